// Brings a thread's calls, loops and misses to the tree of the loops that the program makes: the main thread's,
// and while that waits, those of a thread that it began. Such a thread goes on where the main thread waits, as if
// it had been called there. Of several the one that began first does, until it ends.
#pragma once

#include <atomic>
#include <cstdint>

#include "observe/loops/loop_tree.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::observe {

// What work is measured by: what a thread's pipeline sees, or, where nobody listens to accesses, the processor's
// clock.
enum class WorkBy : std::uint8_t { pipeline, clock };
// This thread's from now on; null: nobody's loops are followed any more.
void set_loop_tree(LoopTree* tree, WorkBy by = WorkBy::pipeline) noexcept;
// The clock stands while hooks are listened to: they take much more time than the program. What they count is work
// meanwhile.
void stop_work_clock(bool stopped) noexcept;

// While this lives the calling thread waits for others. Nothing where it is not the one with the tree.
class LoopsWait {
 public:
  LoopsWait() noexcept;
  ~LoopsWait();
  LoopsWait(const LoopsWait&) = delete;
  LoopsWait& operator=(const LoopsWait&) = delete;
};
// A thread of the program's begins, or ends.
void begin_loops_of_thread() noexcept;
void end_loops_of_thread() noexcept;

// A function was entered or left, as the shadow stack has it by now; a basic block's hook returns to `site`.
void report_call(std::uint64_t function, std::uint64_t call_site);
void report_return();
void report_block(std::uint64_t site);
void report_sample(std::uint64_t site);
void report_miss(std::uint64_t region);

// Whether a thread that the main thread began may be heard.
extern constinit std::atomic<bool> g_loops_are_shared;

inline void follow_miss(std::uint64_t region) {
  LoopTree* const tree = t_thread.loops;
  if (tree == nullptr) return;
  if (g_loops_are_shared.load(std::memory_order_relaxed))
    report_miss(region);
  else
    tree->record_miss(region);
}

inline void follow_block(std::uint64_t site) {
  const Thread& thread = t_thread;
  if (thread.loops != nullptr && thread.depth <= thread.followed_depth) [[unlikely]]
    report_block(site);
}

}  // namespace terrace::observe
