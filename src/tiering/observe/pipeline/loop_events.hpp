// SPDX-License-Identifier: Apache-2.0
// Forwards a thread's calls, basic blocks and misses to the process's loop tree (loops/loop_tree.hpp). The tree
// follows one thread at a time: the main thread and, while that waits for others, the first thread that the main
// thread started and that has not ended, as if the main thread had called it where it waits.
//
// report_* are called by that thread; the functions test for it. set_loop_tree and stop_work_clock are for the
// runtime.
#pragma once

#include <atomic>
#include <cstdint>

#include "observe/loops/loop_tree.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::observe {

// How work is measured: by the instructions that the thread's pipeline counts, or, where accesses are not traced,
// by the ticks of the processor's clock.
enum class WorkSource : std::uint8_t { pipeline, clock };
// Sets the tree, a non-owning pointer, and makes the calling thread the one that reports to it; null: loops are
// not followed any more.
void set_loop_tree(LoopTree* tree, WorkSource source = WorkSource::pipeline) noexcept;
// Stops or restarts the work clock. It is stopped while accesses are traced, because hooks take much more time
// than the program; work is then the instructions that they count.
void stop_work_clock(bool stopped) noexcept;

// Marks the calling thread as waiting for others during a scope. Has no effect unless the thread reports to
// the tree.
class ScopedLoopWait {
 public:
  ScopedLoopWait() noexcept;
  ~ScopedLoopWait();
  ScopedLoopWait(const ScopedLoopWait&) = delete;
  ScopedLoopWait& operator=(const ScopedLoopWait&) = delete;
};
// Called by a thread of the program at its begin and at its end.
void begin_thread_loops() noexcept;
void end_thread_loops() noexcept;

// Report events of the calling thread. The shadow stack already contains the effect of the call or return; `site`
// is a hook's return address.
void report_call(std::uint64_t function, std::uint64_t call_site);
void report_return();
void report_block(std::uint64_t site);
void report_sample(std::uint64_t site);
void report_miss(std::uint64_t region);

// Set once another thread than the main thread may use the tree.
extern constinit std::atomic<bool> g_loops_are_shared;

inline void trace_miss(std::uint64_t region) {
  LoopTree* const tree = t_thread.loop_tree;
  if (tree == nullptr) return;
  if (g_loops_are_shared.load(std::memory_order_relaxed))
    report_miss(region);
  else
    tree->record_miss(region);
}

inline void trace_block(std::uint64_t site) {
  const Thread& thread = t_thread;
  if (thread.loop_tree != nullptr && thread.depth <= thread.followed_depth) [[unlikely]]
    report_block(site);
}

}  // namespace terrace::observe
