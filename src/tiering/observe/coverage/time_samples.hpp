// Samples of a thread's time: every few milliseconds of its time on a processor the kernel writes down where it
// was. No signal is involved and no descriptor stays open, so the program cannot notice; where the kernel does not
// let programs sample themselves there are no samples.
//
// The samples wait in a ring that the kernel shares with us, until someone looks. Most are known by their address.
// What a library does on Terrace's behalf is not: whoever calls one looks before and after it (OwnTime), so that
// what came in between is known for what it is.
#pragma once

#include <atomic>
#include <cstdint>

#include "observe/coverage/code_map.hpp"
#include "observe/threads/thread.hpp"

struct perf_event_mmap_page;

namespace terrace::observe {

// Of a thread's time on a processor, between two samples. Not a round number, so that it does not fall into step
// with a program that does things by the millisecond.
inline constexpr std::uint64_t k_sample_period_ns = 3'970'000;

class TimeSamples {
 public:
  enum class As : std::uint8_t { by_address, reported, own };

  // Samples the calling thread from now on. `owed_ns` is time that ended threads had left over: the first sample
  // stands for it, too, and comes as much earlier, so that threads which live for less than a period are sampled
  // together. nullptr where the system refuses: `refused` is its errno.
  static TimeSamples* begin(CodeMap& code, std::uint64_t owed_ns, int& refused) noexcept;
  // No more samples, by the thread itself. What was not looked at is counted by its address. Returns the time
  // since the last sample.
  static std::uint64_t end(TimeSamples* samples) noexcept;

  // Counts what came since the last look. Safe from any thread; if another one is looking, it counts.
  void look(As as) noexcept {
    if (ring_ && head() != seen_.load(std::memory_order_relaxed)) count_new(as);
  }
  // Around what Terrace does; nested scopes are the outermost's.
  void enter_own() noexcept {
    if (own_.fetch_add(1, std::memory_order_relaxed) == 0) look(As::by_address);
  }
  void leave_own() noexcept {
    if (own_.fetch_sub(1, std::memory_order_relaxed) == 1) look(As::own);
  }
  [[nodiscard]] bool in_own() const noexcept { return own_.load(std::memory_order_relaxed) != 0; }
  // For what it is, wherever the thread is: from outside, or at its end.
  void look() noexcept { look(in_own() ? As::own : As::by_address); }

 private:
  TimeSamples(CodeMap& code, perf_event_mmap_page* ring, std::uint64_t mapped, std::uint64_t period_ns,
              std::uint64_t owed_ns) noexcept;
  [[nodiscard]] std::uint64_t head() const noexcept;
  void count_new(As as) noexcept;
  void count(As as, std::uint64_t samples) noexcept;

  // All of this is on a page that the kernel empties in the child of a fork, however it was forked: there is no
  // ring there.
  CodeMap& code_;
  perf_event_mmap_page* ring_;
  std::uint64_t mapped_;  // bytes
  std::atomic<std::uint64_t> seen_{0};
  std::atomic_flag looking_ = ATOMIC_FLAG_INIT;
  std::uint64_t period_ns_;
  std::uint64_t owed_ns_;   // until the first sample
  std::uint64_t begun_ns_;  // of the thread's time
  std::uint64_t counted_ns_ = 0;
  std::uint64_t last_ = 0;  // address of the last sample
  std::atomic<std::uint32_t> own_{0};
};

// For the duration of a scope this thread's time is Terrace's own, whatever code it runs.
class OwnTime {
 public:
  OwnTime() noexcept : samples_(t_thread.samples) {
    if (samples_) samples_->enter_own();
  }
  ~OwnTime() {
    if (samples_) samples_->leave_own();
  }
  OwnTime(const OwnTime&) = delete;
  OwnTime& operator=(const OwnTime&) = delete;

 private:
  TimeSamples* samples_;
};

// Around the C library's work for the program on memory that is reported. The program's memory may fault in there,
// and its handler may not come back: nothing is remembered in between.
inline void before_reported() noexcept {
  if (auto* const samples = t_thread.samples; samples && !samples->in_own())
    samples->look(TimeSamples::As::by_address);
}
inline void after_reported() noexcept {
  if (auto* const samples = t_thread.samples; samples && !samples->in_own())
    samples->look(TimeSamples::As::reported);
}

}  // namespace terrace::observe
