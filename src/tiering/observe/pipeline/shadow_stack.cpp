#include "observe/pipeline/shadow_stack.hpp"

#include <algorithm>

namespace terrace::observe {

namespace {

// Answers of the observer by a few bits of the address: twice the address, plus one where entries are wanted.
constexpr std::size_t k_answers = 1024;
constinit std::atomic<std::uint64_t> answers[k_answers]{};
constinit std::atomic<const FunctionObserver*> current{nullptr};

constexpr std::uint64_t k_searched_frame = 4096;  // bytes; a function with more on its stack is believed

// The address at which `word` is, from `begin` upwards; `end` when it is nowhere. Reads whatever is there, so
// address sanitizers must look away.
__attribute__((no_sanitize("address"))) std::uint64_t search(std::uint64_t begin, std::uint64_t end,
                                                             std::uint64_t word) {
  for (std::uint64_t at = begin; at < end; at += sizeof word) {
    if (*reinterpret_cast<const std::uint64_t*>(at) == word) return at;
  }
  return end;
}

}  // namespace

void set_function_observer(const FunctionObserver* observer) {
  current.store(nullptr, std::memory_order_release);
  for (auto& answer : answers) answer.store(0, std::memory_order_relaxed);
  current.store(observer, std::memory_order_release);
}

void report_entry(std::uint64_t function, std::uint64_t call_site) {
  const FunctionObserver* observer = current.load(std::memory_order_acquire);
  if (observer == nullptr) return;
  auto& answer = answers[(function ^ (function >> 10)) % k_answers];
  std::uint64_t known = answer.load(std::memory_order_relaxed);
  if (known >> 1 != function) [[unlikely]] {
    const Inside inside;
    known = function << 1 | static_cast<std::uint64_t>(observer->wants(observer->context, function));
    answer.store(known, std::memory_order_relaxed);
  }
  if ((known & 1) != 0) [[unlikely]] {
    const Inside inside;
    observer->entered(observer->context, function, call_site);
  }
}

void unwind(Thread& thread, std::uint64_t stack_pointer) {
  // What is deeper than the stack that is kept has no stack pointers: it goes with the deepest entry that has.
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
  // Live calls are one above the other: each one's frame, then its return address, then its caller's frame. What
  // does not fit in between, or has lost its return address, was left by a jump.
  const std::uint64_t top =
      thread.calls[0].stack_pointer;  // the outermost has no caller to tell where its frame ends
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
