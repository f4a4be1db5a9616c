#include "observe/threads/thread.hpp"

#include <sys/mman.h>

// The name is code/unhooked.hpp's; programs read it behind each call. A lie, for a moment, costs no more than
// time: hooks ask again.
extern "C" {
__attribute__((visibility("default"))) constinit std::atomic<unsigned char> __terrace_unhooked{1};
}

namespace terrace::observe {

void set_listening(bool listening) { __terrace_unhooked.store(listening ? 0 : 1, std::memory_order_relaxed); }

constinit std::atomic<bool> g_is_multithreaded{false};

constinit thread_local Thread t_thread __attribute__((tls_model(TERRACE_THREAD_MODEL)));

namespace {

// Numbers are the process's, as threads are.
constinit std::atomic<std::uint32_t> next_number{0};
constinit std::atomic<std::uint64_t> unseen{0};

constexpr std::size_t k_shadow_stack_bytes = k_shadow_stack_depth * sizeof(Thread::Call);

}  // namespace

std::uint64_t unseen_accesses() { return unseen.load(std::memory_order_relaxed); }
void count_unseen() { unseen.fetch_add(1, std::memory_order_relaxed); }

std::uint32_t next_thread_number() { return next_number.fetch_add(1, std::memory_order_relaxed); }

Thread& enter_thread(std::uint32_t number) {
  Thread& thread = t_thread;
  if (thread.calls != nullptr) return thread;
  thread.number = number;
  // Not from the heap: this may run before the program's allocator is ready to.
  void* memory = mmap(nullptr, k_shadow_stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  thread.depth = 0;
  if (memory != MAP_FAILED) thread.calls = static_cast<Thread::Call*>(memory);
  return thread;
}

Thread& enter_thread() { return t_thread.calls != nullptr ? t_thread : enter_thread(next_thread_number()); }

void leave_thread() {
  Thread& thread = t_thread;
  if (thread.calls == nullptr) return;
  Thread::Call* calls = thread.calls;
  thread.calls = nullptr;
  thread.depth = 0;
  munmap(calls, k_shadow_stack_bytes);
}

}  // namespace terrace::observe
