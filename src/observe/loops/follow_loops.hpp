// Brings a thread's calls, loops and misses to the tree of the loops that it makes. For threads that have one.
#pragma once

#include <cstdint>

#include "observe/loops/loop_tree.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::observe {

// This thread's from now on; null: it has none.
void set_loop_tree(LoopTree* tree) noexcept;

// A function was entered or left, as the shadow stack has it by now; a basic block's hook returns to `site`.
void report_call(std::uint64_t function, std::uint64_t call_site);
void report_return();
void report_block(std::uint64_t site);
void report_sample(std::uint64_t site);

inline void follow_block(std::uint64_t site) {
  const Thread& thread = t_thread;
  if (thread.loops != nullptr && thread.depth <= thread.followed_depth) [[unlikely]]
    report_block(site);
}

}  // namespace terrace::observe
