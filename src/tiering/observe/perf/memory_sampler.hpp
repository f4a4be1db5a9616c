// SPDX-License-Identifier: Apache-2.0
// Samples the memory accesses of the own process by hardware counters (PEBS, IBS, SPE), for one thread of the
// runtime that polls: the agent's page-use monitor, through sampled_use.hpp.
//
// Each thread of the program has its own rings; threads that begin later get theirs at the next poll, and threads
// that live between two polls only are missed. The alternative, inherited rings for each processor, would need a
// ring for each processor of the machine in every process, however few threads it has: 256 processors and 64 ranks
// make 16,384. Events that the kernel has for whole processors only (AMD's before Linux 6.2) get a ring for each
// processor.
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
  std::uint64_t lost = 0;       // because the ring or the processor's buffer was full
  std::uint64_t throttled = 0;  // times that the kernel throttled an event
  std::uint64_t raised = 0;     // times that a period was doubled because of that
  std::uint64_t malformed = 0;  // records and packets that could not be decoded
  std::uint64_t threads = 0;    // sampled now
  std::uint64_t refused = 0;    // threads for which the kernel opened nothing
  double running = 1;           // share of the enabled time in which events had a counter (multiplexing)
};

class EventRing;

class MemorySampler {
 public:
  using OnSamples = std::function<void(std::span<const MemorySample>)>;
  // Opens an event of a thread or of a processor, as EventRing::open does.
  using Open = std::function<std::optional<EventRing>(const PerfEvent& event, std::uint64_t period, int tid,
                                                      int processor, int& error, const char*& call)>;

  MemorySampler();
  // Uses rings that `open` provides instead of the kernel's.
  explicit MemorySampler(Open open);
  ~MemorySampler();
  MemorySampler(const MemorySampler&) = delete;
  MemorySampler& operator=(const MemorySampler&) = delete;

  // Excludes a thread of the runtime. Requires: called before `start`.
  void exclude_thread(int tid);
  // Samples all threads of the process by the available events of the first choice that has any. Throws
  // Error{failed} where no event is available.
  void start(std::span<const PerfEvent> events);
  // Passes the samples since the last poll to `on_samples`, ring by ring, in batches; opens events for new
  // threads. The weight of a sample is the period in force, divided by the share of time in which its event had a
  // counter. Doubles the period of an event that the kernel throttled. Has no effect in a child of fork.
  void poll(const OnSamples& on_samples);
  void stop();
  [[nodiscard]] SamplerCounts counts() const;
  // Returns what the started events do not observe, for the user: "loads of under 30 cycles; stores".
  [[nodiscard]] std::string blind_spots() const;

  // Returns why none of the events is available, in one line that names the file or call; "" where one is. Opens
  // each for the calling thread and closes it again.
  static std::string unavailable_reason(std::span<const PerfEvent> events);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace terrace::observe
