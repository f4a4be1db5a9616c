// Samples the accesses to memory of the own process by the processor's counters, for one thread of Terrace's that
// reads them from time to time.
//
// Each thread has rings of its own, and threads that begin later get theirs when the sampler is next polled. The
// other way, rings of each processor that threads inherit, would need a ring for each processor of the machine in
// every process, however few threads it has: 256 processors and 64 ranks make 16,384. What begins and ends between
// two polls is missed. Events that the kernel has for whole processors only (AMD's before Linux 6.2) get a ring
// for each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "observe/perf/memory_sample.hpp"
#include "observe/perf/perf_event.hpp"

namespace terrace::observe {

struct SamplerCounts {
  std::uint64_t samples = 0;
  std::uint64_t lost = 0;       // the ring was full, or the processor's buffer
  std::uint64_t throttled = 0;  // times that the kernel held an event back
  std::uint64_t raised = 0;     // times that a period was doubled for that
  std::uint64_t malformed = 0;  // records and packets that could not be read
  std::uint64_t threads = 0;    // that are sampled now
  std::uint64_t refused = 0;    // threads for which the kernel opened nothing
  double running = 1;           // of the time in which events were wanted, the share in which they had a counter
};

class EventRing;

class MemorySampler {
 public:
  using Take = std::function<void(std::span<const MemorySample>)>;
  // Opens an event of a thread or of a processor, as EventRing::open does.
  using Open = std::function<std::optional<EventRing>(const PerfEvent& event, std::uint64_t period, int tid,
                                                      int processor, int& error, const char*& call)>;

  MemorySampler();
  // With rings from elsewhere than the kernel.
  explicit MemorySampler(Open open);
  ~MemorySampler();
  MemorySampler(const MemorySampler&) = delete;
  MemorySampler& operator=(const MemorySampler&) = delete;

  // Threads of Terrace's own, to be left out; before `start`.
  void skip(int tid);
  // Samples all threads of the process by the events of the first choice of which one can be had, as far as they
  // can. Throws Error{failed} where none can.
  void start(std::span<const PerfEvent> events);
  // Hands over what was sampled since the last time, in the order of rings, some at a time; looks for new threads.
  // Every sample has the weight of the period in force, times the share of time in which its event had a counter.
  // An event that the kernel held back gets twice its period. In a child of fork nothing happens.
  void poll(const Take& take);
  void stop();
  [[nodiscard]] SamplerCounts counts() const;
  // What is not seen, for the user: "loads of under 30 cycles; stores". Of the events that were started.
  [[nodiscard]] std::string misses() const;

  // Why none of the events can be had here, in one line that names the file or call; "" where one can. Opens each
  // for the calling thread and closes it again.
  static std::string unavailable_reason(std::span<const PerfEvent> events);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace terrace::observe
