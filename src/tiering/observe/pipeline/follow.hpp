// What every hook does: hand an access to this thread's pipeline, if there is one and the thread is the program's.
#pragma once

#include <cstdint>

#include "observe/pipeline/pipeline.hpp"
#include "observe/threads/thread.hpp"

// An entry point of the compiler's run-time library or of the C library that we stand in for.
#define TERRACE_HOOK __attribute__((visibility("default")))
// The instruction behind the call of the hook: it stands for the access.
#define TERRACE_SITE reinterpret_cast<std::uint64_t>(__builtin_return_address(0))

namespace terrace::observe {

// The pipeline to report to, or null. Accesses that come while the thread is inside Terrace are counted.
[[gnu::always_inline]] inline Pipeline* following() {
  Thread& thread = t_thread;
  Pipeline* const pipeline = thread.listening;
  if (pipeline == nullptr && thread.pipeline != nullptr) [[unlikely]]
    count_unseen();
  return pipeline;
}

[[gnu::always_inline]] inline void follow(const volatile void* address, std::uint32_t size, bool store,
                                          std::uint64_t site) {
  if (Pipeline* pipeline = following()) {
    pipeline->access(reinterpret_cast<std::uint64_t>(address), size, store, site);
  }
}

// An atomic load or read-modify-write, by which threads wait for one another and compete.
[[gnu::always_inline]] inline void follow_atomic(const volatile void* address, std::uint32_t size, bool store,
                                                 std::uint64_t site) {
  if (Pipeline* pipeline = following()) {
    pipeline->access(reinterpret_cast<std::uint64_t>(address), size, store, site);
    if (g_is_multithreaded.load(std::memory_order_relaxed)) pipeline->contend();
  }
}

[[gnu::always_inline]] inline void follow_range(const volatile void* address, std::uint64_t size, bool store,
                                                std::uint64_t site) {
  if (Pipeline* pipeline = following()) {
    pipeline->range(reinterpret_cast<std::uint64_t>(address), size, store, site);
  }
}

}  // namespace terrace::observe
