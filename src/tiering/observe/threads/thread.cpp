// SPDX-License-Identifier: Apache-2.0
// Defines the thread-local state of the runtime, and registers threads with it. See thread.hpp.
#include "observe/threads/thread.hpp"

#include <sys/mman.h>

// The symbol is k_unhooked (hooks/hook_names.hpp); programs read it after each call. A stale value costs only
// time: hooks test again.
extern "C" {
__attribute__((visibility("default"))) constinit std::atomic<unsigned char> __terrace_unhooked{1};
}

namespace terrace::observe {

void set_tracing_enabled(bool enabled) { __terrace_unhooked.store(enabled ? 0 : 1, std::memory_order_relaxed); }

constinit std::atomic<bool> g_is_multithreaded{false};

constinit thread_local Thread t_thread __attribute__((tls_model(TERRACE_THREAD_MODEL)));

namespace {

constinit std::atomic<std::uint32_t> next_number{0};
constinit std::atomic<std::uint64_t> untraced{0};

constexpr std::size_t k_shadow_stack_bytes = k_shadow_stack_depth * sizeof(Thread::Call);

}  // namespace

std::uint64_t untraced_accesses() { return untraced.load(std::memory_order_relaxed); }
void count_untraced() { untraced.fetch_add(1, std::memory_order_relaxed); }

std::uint32_t next_thread_number() { return next_number.fetch_add(1, std::memory_order_relaxed); }

Thread& register_thread(std::uint32_t number) {
  Thread& thread = t_thread;
  if (thread.calls != nullptr) return thread;
  thread.number = number;
  // mmap, not the heap: this may run before the program's allocator is initialised.
  void* memory = mmap(nullptr, k_shadow_stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  thread.depth = 0;
  if (memory != MAP_FAILED) thread.calls = static_cast<Thread::Call*>(memory);
  return thread;
}

Thread& register_thread() { return t_thread.calls != nullptr ? t_thread : register_thread(next_thread_number()); }

void unregister_thread() {
  Thread& thread = t_thread;
  if (thread.calls == nullptr) return;
  Thread::Call* calls = thread.calls;
  thread.calls = nullptr;
  thread.depth = 0;
  munmap(calls, k_shadow_stack_bytes);
}

}  // namespace terrace::observe
