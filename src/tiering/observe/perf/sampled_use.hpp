// SPDX-License-Identifier: Apache-2.0
// Implements the interface of a page watch by sampled accesses, for the agent's page-use monitor: reports for each
// range the bytes of the lines that were fetched from memory, as its samples estimate. Prefetched lines are not
// sampled.
#pragma once

#include <span>
#include <vector>

#include "observe/page_watch.hpp"
#include "observe/perf/memory_sampler.hpp"

namespace terrace::observe {

class SampledUse final : public PageWatch {
 public:
  // Samples all threads of the process except `own`. Throws Error{failed} where no event is available.
  SampledUse(std::span<const PerfEvent> events, int own, std::uint64_t line = 64);

  void begin(std::span<const WatchedRange> ranges) override;
  void read(std::span<const WatchedRange> ranges, std::span<std::uint64_t> used) override;
  [[nodiscard]] std::string blind_spots() const { return sampler_.blind_spots(); }
  [[nodiscard]] SamplerCounts counts() const { return sampler_.counts(); }

 private:
  void take(std::span<const WatchedRange> ranges);

  MemorySampler sampler_;
  std::uint64_t line_;
  std::vector<double> lines_;  // by range, since the window began
};

}  // namespace terrace::observe
