// SPDX-License-Identifier: Apache-2.0
// Samples a thread's processor time for the agent's report of coverage, by perf_event_open(2): every few
// milliseconds the kernel records the instruction pointer. It uses no signals and keeps no descriptor open, so it
// is invisible to the program. There are no samples where the kernel does not permit self-monitoring.
//
// Samples stay in a ring shared with the kernel until it is drained, and are attributed by their address. Library
// code that runs on behalf of the runtime is the exception: the caller drains the ring before and after it
// (OwnTimeScope), and attributes the samples in between to the runtime.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/errno_scope.hpp"
#include "observe/coverage/code_map.hpp"
#include "observe/threads/thread.hpp"

struct perf_event_mmap_page;

namespace terrace::observe {

// Processor time between two samples. Not a round number, to avoid aliasing with programs that are periodic in
// milliseconds.
inline constexpr std::uint64_t k_sample_period_ns = 3'970'000;

class TimeSamples {
 public:
  enum class Attribution : std::uint8_t { by_address, reported, own };

  // Starts sampling the calling thread. `owed_ns`: unsampled rest of ended threads; the first sample also stands
  // for it and comes earlier by as much, so that threads shorter than a period are sampled together. Returns
  // nullptr where the kernel refuses, with errno in `refused`.
  static TimeSamples* begin(CodeMap& code, std::uint64_t owed_ns, int& refused) noexcept;
  // Stops sampling; called by the thread itself. Attributes the remaining samples by address. Returns the
  // unsampled rest.
  static std::uint64_t end(TimeSamples* samples) noexcept;

  // Counts the new samples. Thread-safe; does nothing while another thread drains the ring.
  void drain(Attribution attribution) noexcept {
    if (ring_ && head() != seen_.load(std::memory_order_relaxed)) drain_ring(attribution);
  }
  // Begin and end work of the runtime; scopes nest.
  void enter_own() noexcept {
    if (own_.fetch_add(1, std::memory_order_relaxed) == 0) drain(Attribution::by_address);
  }
  void leave_own() noexcept {
    if (own_.fetch_sub(1, std::memory_order_relaxed) == 1) drain(Attribution::own);
  }
  [[nodiscard]] bool in_own() const noexcept { return own_.load(std::memory_order_relaxed) != 0; }
  // Drains by the thread's present state: for calls from other threads, or at its end.
  void drain() noexcept { drain(in_own() ? Attribution::own : Attribution::by_address); }

 private:
  TimeSamples(CodeMap& code, perf_event_mmap_page* ring, std::uint64_t mapped, std::uint64_t period_ns,
              std::uint64_t owed_ns) noexcept;
  [[nodiscard]] std::uint64_t head() const noexcept;
  void drain_ring(Attribution attribution) noexcept;
  void count(Attribution attribution, std::uint64_t samples) noexcept;

  // The object is on pages with MADV_WIPEONFORK, so that it is all zero, without a ring, in a child of fork.
  CodeMap& code_;
  perf_event_mmap_page* ring_;
  std::uint64_t mapped_;  // bytes
  std::atomic<std::uint64_t> seen_{0};
  std::atomic_flag is_draining_ = ATOMIC_FLAG_INIT;
  std::uint64_t period_ns_;
  std::uint64_t owed_ns_;   // counted with the first sample
  std::uint64_t begun_ns_;  // by the thread's clock
  std::uint64_t counted_ns_ = 0;
  std::uint64_t last_ = 0;  // address of the last sample
  std::atomic<std::uint32_t> own_{0};
};

// Attributes the calling thread's time to the runtime for the duration of a scope, whatever code runs.
class OwnTimeScope {
 public:
  OwnTimeScope() noexcept : samples_(t_thread.samples) {
    if (samples_) samples_->enter_own();
  }
  ~OwnTimeScope() {
    if (samples_) samples_->leave_own();
  }
  OwnTimeScope(const OwnTimeScope&) = delete;
  OwnTimeScope& operator=(const OwnTimeScope&) = delete;

 private:
  TimeSamples* samples_;
};

// Marks the calling thread as inside the runtime, attributes its time to the runtime, and preserves errno, for the
// duration of a scope that runs on behalf of the program.
class AgentScope {
 public:
  AgentScope() = default;
  AgentScope(const AgentScope&) = delete;
  AgentScope& operator=(const AgentScope&) = delete;

 private:
  OwnTimeScope own_time_;
  RuntimeScope inside_;
  ErrnoScope errno_scope_;
};

// Executes `call`, which returns 0 or an errno value, in an AgentScope. Returns 0, or -1 with errno set.
template <class Call>
int call_inside(Call&& call) {
  const int error = [&] {
    const AgentScope scope;
    return call();
  }();
  return return_by_errno(error);
}

// Called before and after a C library function whose accesses are traced as ranges. They keep no state in between:
// the program's memory may fault there, and its handler may not return.
inline void before_reported() noexcept {
  if (auto* const samples = t_thread.samples; samples && !samples->in_own())
    samples->drain(TimeSamples::Attribution::by_address);
}
inline void after_reported() noexcept {
  if (auto* const samples = t_thread.samples; samples && !samples->in_own())
    samples->drain(TimeSamples::Attribution::reported);
}

}  // namespace terrace::observe
