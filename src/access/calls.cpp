#include "access/calls.hpp"

#include <algorithm>

namespace terrace::access {

namespace {

// Answers of the observer by a few bits of the address: twice the address, plus one where entries are wanted.
constexpr std::size_t k_answers = 1024;
constinit std::atomic<std::uint64_t> answers[k_answers]{};
constinit std::atomic<const FunctionObserver*> current{nullptr};

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
  const Thread& thread = t_thread;
  if (thread.calls == nullptr) return 0;
  const std::size_t kept = std::min(thread.depth, k_shadow_stack_depth);
  const std::size_t count = std::min(kept, n);
  for (std::size_t i = 0; i < count; ++i) frames[i] = thread.calls[kept - 1 - i].call_site;
  return count;
}

}  // namespace terrace::access
