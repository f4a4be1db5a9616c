// SPDX-License-Identifier: Apache-2.0
// Captures and repairs the shadow stack of calls, which the hooks of function entries and exits maintain: the
// agent names each allocation by it, and repairs it after longjmp and exceptions. See shadow_stack.hpp.
#include "observe/pipeline/shadow_stack.hpp"

#include <algorithm>

namespace terrace::observe {

namespace {

// Caches the observer's answers, direct-mapped by the address: twice the address, plus 1 where entries are
// reported.
constexpr std::size_t k_cached_answers = 1024;
constinit std::atomic<std::uint64_t> g_answers[k_cached_answers]{};
constinit std::atomic<const FunctionObserver*> g_observer{nullptr};

constexpr std::uint64_t k_searched_frame =
    4096;  // bytes; the entry of a function with a larger frame counts as live

// Returns the address of `word` in [begin, end), or `end`. Reads the raw stack, so address sanitizers must not
// check it.
__attribute__((no_sanitize("address"))) std::uint64_t search(std::uint64_t begin, std::uint64_t end,
                                                             std::uint64_t word) {
  for (std::uint64_t at = begin; at < end; at += sizeof word) {
    if (*reinterpret_cast<const std::uint64_t*>(at) == word) return at;
  }
  return end;
}

}  // namespace

void set_function_observer(const FunctionObserver* observer) {
  g_observer.store(nullptr, std::memory_order_release);
  for (auto& answer : g_answers) answer.store(0, std::memory_order_relaxed);
  g_observer.store(observer, std::memory_order_release);
}

// Reports a function's entry to the observer, if that wants the function.
void report_entry(std::uint64_t function, std::uint64_t call_site) {
  const FunctionObserver* observer = g_observer.load(std::memory_order_acquire);
  if (observer == nullptr) return;
  auto& answer = g_answers[(function ^ (function >> 10)) % k_cached_answers];
  std::uint64_t known = answer.load(std::memory_order_relaxed);
  if (known >> 1 != function) [[unlikely]] {
    const RuntimeScope inside;
    known = function << 1 | static_cast<std::uint64_t>(observer->wants(observer->context, function));
    answer.store(known, std::memory_order_relaxed);
  }
  if ((known & 1) != 0) [[unlikely]] {
    const RuntimeScope inside;
    observer->on_entry(observer->context, function, call_site);
  }
}

void unwind(Thread& thread, std::uint64_t stack_pointer) {
  // Calls deeper than k_shadow_stack_depth have no entries: they are popped with the deepest entry.
  const std::uint32_t kept = std::min(thread.depth, k_shadow_stack_depth);
  std::uint32_t depth = kept;
  while (depth > 0 && thread.calls[depth - 1].stack_pointer <= stack_pointer) --depth;
  if (depth < kept) thread.depth = depth;
}

std::size_t capture_calls(std::uint64_t* frames, std::size_t n) {
  return capture_calls(frames, n, reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)));
}

std::size_t capture_calls(std::uint64_t* frames, std::size_t n, std::uint64_t above) {
  const Thread& thread = t_thread;
  if (thread.calls == nullptr) return 0;
  const std::size_t kept = std::min(thread.depth, k_shadow_stack_depth);
  if (kept == 0) return 0;
  // Frames of live calls are contiguous: each one's frame, then its return address, then its caller's frame. An
  // entry that does not fit in between, or whose return address is gone, is stale.
  const std::uint64_t top =
      thread.calls[0].stack_pointer;  // the outermost call has no caller that bounds its frame
  std::size_t count = 0;
  for (std::size_t i = kept; i > 0 && count < n; --i) {
    const Thread::Call& call = thread.calls[i - 1];
    if (call.stack_pointer <= above) continue;
    if (i > 1) {
      const std::uint64_t end = std::min(top, call.stack_pointer + k_searched_frame);
      const std::uint64_t at = search(call.stack_pointer, end, call.call_site);
      if (at == end && end == top) continue;
      above = at == end ? call.stack_pointer : at;
    }
    frames[count++] = call.call_site;
  }
  return count;
}

}  // namespace terrace::observe
