// SPDX-License-Identifier: Apache-2.0
// Hands the accesses that hooks (hooks/) report to the calling thread's pipeline. Does nothing where the thread
// has no pipeline or runs code of the runtime.
#pragma once

#include <cstdint>

#include "observe/pipeline/pipeline.hpp"
#include "observe/threads/thread.hpp"

// Declares an entry point of the compiler's run-time library or of the C library, which Terrace replaces.
#define TERRACE_HOOK __attribute__((visibility("default")))
// The return address of the hook identifies the access.
#define TERRACE_SITE reinterpret_cast<std::uint64_t>(__builtin_return_address(0))

namespace terrace::observe {

// Returns the pipeline to report to, or null. Counts the accesses made while the thread is inside the runtime.
[[gnu::always_inline]] inline Pipeline* traced_pipeline() {
  Thread& thread = t_thread;
  Pipeline* const pipeline = thread.active_pipeline;
  if (pipeline == nullptr && thread.pipeline != nullptr) [[unlikely]]
    count_untraced();
  return pipeline;
}

[[gnu::always_inline]] inline void trace_access(const volatile void* address, std::uint32_t size, bool store,
                                                std::uint64_t site) {
  if (Pipeline* pipeline = traced_pipeline()) {
    pipeline->access(reinterpret_cast<std::uint64_t>(address), size, store, site);
  }
}

// Traces an atomic load or read-modify-write: threads synchronise by it, so a quantum may end here.
[[gnu::always_inline]] inline void trace_atomic(const volatile void* address, std::uint32_t size, bool store,
                                                std::uint64_t site) {
  if (Pipeline* pipeline = traced_pipeline()) {
    pipeline->access(reinterpret_cast<std::uint64_t>(address), size, store, site);
    if (g_is_multithreaded.load(std::memory_order_relaxed)) pipeline->on_contention();
  }
}

[[gnu::always_inline]] inline void trace_range(const volatile void* address, std::uint64_t size, bool store,
                                               std::uint64_t site) {
  if (Pipeline* pipeline = traced_pipeline()) {
    pipeline->range(reinterpret_cast<std::uint64_t>(address), size, store, site);
  }
}

}  // namespace terrace::observe
