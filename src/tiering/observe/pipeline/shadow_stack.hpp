// SPDX-License-Identifier: Apache-2.0
// Maintains the thread's shadow stack of calls, pushed and popped by the function entry and exit hooks, and
// reports calls to the loop tree and function entries to one observer. Call stacks name allocations; observed
// entries become phases. Functions act on the calling thread's stack (threads/thread.hpp) unless they take a
// Thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "observe/pipeline/loop_events.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::observe {

// Receives function entries. A function is identified by the return address of its entry hook: an address inside
// its body, the same at every entry.
struct FunctionObserver {
  // Returns whether to report entries of the function. Cached, but may be called again for the same function.
  bool (*wants)(void* context, std::uint64_t function) = nullptr;
  void (*on_entry)(void* context, std::uint64_t function, std::uint64_t call_site) = nullptr;
  void* context = nullptr;
};

// Sets the process's observer, which is non-owning; null: none. Also clears the cached answers of `wants`. Threads
// with `reports_entries` call it, inside the runtime.
void set_function_observer(const FunctionObserver* observer);

// Writes the call sites of the innermost calls, innermost first: where the running function was called, then where
// its caller was called, and so on. Returns their number, at most `n`. Skips stale entries of calls that were left
// by a jump (longjmp): their return address is no longer on the stack.
std::size_t capture_calls(std::uint64_t* frames, std::size_t n);
// Does so for the active function whose frame is at `above`.
std::size_t capture_calls(std::uint64_t* frames, std::size_t n, std::uint64_t above);

// Pops entries that were left without an exit hook (longjmp, exceptions): those at or below the current stack
// pointer. Where the entered function has the larger frame, one stale entry may remain until its caller exits.
void unwind(Thread& thread, std::uint64_t stack_pointer);
void report_entry(std::uint64_t function, std::uint64_t call_site);

// Called by the hook of function entries: pushes the call, and reports it to the observer and the loop tree.
inline void enter_function(std::uint64_t function, std::uint64_t call_site, std::uint64_t stack_pointer) {
  Thread& thread = t_thread;
  if (thread.calls == nullptr || thread.inside != 0) return;
  std::uint32_t depth = thread.depth;
  if (depth != 0) [[likely]] {
    const std::uint32_t top = depth < k_shadow_stack_depth ? depth - 1 : k_shadow_stack_depth - 1;
    if (thread.calls[top].stack_pointer <= stack_pointer) [[unlikely]] {
      unwind(thread, stack_pointer);
      depth = thread.depth;
    }
  }
  if (depth < k_shadow_stack_depth) [[likely]]
    thread.calls[depth] = {function, call_site, stack_pointer};
  thread.depth = depth + 1;
  if (thread.reports_entries) [[unlikely]]
    report_entry(function, call_site);
  if (thread.loop_tree != nullptr && depth <= thread.followed_depth) [[unlikely]]
    report_call(function, call_site);
}

// `site`: return address of the exit hook. A compiler may end a function by a tail call of the hook, with the
// frame already released: then it is the return address of the function itself.
inline void leave_function(std::uint64_t stack_pointer, std::uint64_t site) {
  Thread& thread = t_thread;
  if (thread.calls == nullptr || thread.inside != 0 || thread.depth == 0) return;
  // At its exit a function's stack pointer is where it was at its entry, or lower where it allocated on the stack.
  const std::uint32_t top = thread.depth <= k_shadow_stack_depth ? thread.depth - 1 : k_shadow_stack_depth - 1;
  bool is_popped = false;
  if (thread.calls[top].stack_pointer < stack_pointer) {
    unwind(thread, stack_pointer - 1);
    is_popped = thread.calls[thread.depth].call_site == site;
    if (!is_popped && thread.depth == 0) return;
  }
  if (!is_popped) --thread.depth;
  if (thread.loop_tree != nullptr && thread.depth <= thread.followed_depth) [[unlikely]]
    report_return();
}

}  // namespace terrace::observe
