// The shadow stack of calls: pushed and popped by the function entry and exit hooks, read to name allocations; and
// the one observer that is told of function entries (phases by function entry).
#pragma once

#include <cstddef>
#include <cstdint>

#include "observe/pipeline/loop_events.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::observe {

// Who wants to know of function entries. A function is known by the return address of its entry hook: an address
// inside its body, the same at every entry.
struct FunctionObserver {
  // Whether entries at this address are wanted. The answer is remembered, mostly: it may be asked again.
  bool (*wants)(void* context, std::uint64_t function) = nullptr;
  void (*entered)(void* context, std::uint64_t function, std::uint64_t call_site) = nullptr;
  void* context = nullptr;
};

// The observer of this process; it must stay valid. Null: nobody. Setting one, also the same again, forgets the
// remembered answers. Threads report to it while their `watching` is set; it runs inside Terrace.
void set_function_observer(const FunctionObserver* observer);

// The call sites of the innermost calls, innermost first: where the function that runs now was called, then where
// its caller was called, and so on. Returns how many there are, `n` at most. Calls that were left by a jump and
// not noticed yet are recognised by their return address, which is no longer on the stack.
std::size_t capture_calls(std::uint64_t* frames, std::size_t n);
// The same for a running function whose frame is at `above`.
std::size_t capture_calls(std::uint64_t* frames, std::size_t n, std::uint64_t above);

// Drops entries that were left without an exit hook (longjmp, exceptions): those at or below a stack pointer that
// is in use now. Where the function that is entered has the larger frame one of them may stay, until its caller
// exits.
void unwind(Thread& thread, std::uint64_t stack_pointer);
void report_entry(std::uint64_t function, std::uint64_t call_site);

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
  if (thread.watching) [[unlikely]]
    report_entry(function, call_site);
  if (thread.loops != nullptr && depth <= thread.followed_depth) [[unlikely]]
    report_call(function, call_site);
}

// `site`: where the exit hook returns to. A compiler may end a function by a jump to the hook, with the stack
// already cleared away: then that is where the function itself returns to.
inline void leave_function(std::uint64_t stack_pointer, std::uint64_t site) {
  Thread& thread = t_thread;
  if (thread.calls == nullptr || thread.inside != 0 || thread.depth == 0) return;
  // At its exit a function's stack pointer is where it was at its entry, or lower where it allocated on the stack.
  const std::uint32_t top = thread.depth <= k_shadow_stack_depth ? thread.depth - 1 : k_shadow_stack_depth - 1;
  bool is_gone = false;
  if (thread.calls[top].stack_pointer < stack_pointer) {
    unwind(thread, stack_pointer - 1);
    is_gone = thread.calls[thread.depth].call_site == site;
    if (!is_gone && thread.depth == 0) return;
  }
  if (!is_gone) --thread.depth;
  if (thread.loops != nullptr && thread.depth <= thread.followed_depth) [[unlikely]]
    report_return();
}

}  // namespace terrace::observe
