// What the processor's counters say was fetched from memory, told as a page watch tells what was used: of each
// range the bytes of the lines that its samples stand for. Lines that were fetched ahead of the loads are not in
// them.
#pragma once

#include <span>
#include <vector>

#include "observe/page_watch.hpp"
#include "observe/perf/memory_sampler.hpp"

namespace terrace::observe {

class SampledUse final : public PageWatch {
 public:
  // Samples all threads of the process but `own`. Throws Error{failed} where no event can be had.
  SampledUse(std::span<const PerfEvent> events, int own, std::uint64_t line = 64);

  void begin(std::span<const WatchedRange> ranges) override;
  void read(std::span<const WatchedRange> ranges, std::span<std::uint64_t> used) override;
  [[nodiscard]] std::string misses() const { return sampler_.misses(); }
  [[nodiscard]] SamplerCounts counts() const { return sampler_.counts(); }

 private:
  void take(std::span<const WatchedRange> ranges);

  MemorySampler sampler_;
  std::uint64_t line_;
  std::vector<double> lines_;  // by range, since the window began
};

}  // namespace terrace::observe
