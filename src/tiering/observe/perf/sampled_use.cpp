// SPDX-License-Identifier: Apache-2.0
// Estimates the used bytes of address ranges from sampled accesses, for the agent's page-use monitor. See
// sampled_use.hpp.
#include "observe/perf/sampled_use.hpp"

#include <algorithm>

namespace terrace::observe {

namespace {

// Returns whether the line was fetched from memory, not from this core's caches or the last-level cache. Where the
// processor does not report the source, the event counts misses only.
bool is_from_memory(MemoryLevel level) {
  switch (level) {
    case MemoryLevel::l1:
    case MemoryLevel::fill_buffer:
    case MemoryLevel::l2:
    case MemoryLevel::l3:
      return false;
    case MemoryLevel::unknown:
    case MemoryLevel::remote_cache:
    case MemoryLevel::local_dram:
    case MemoryLevel::remote_dram:
    case MemoryLevel::far:
      return true;
  }
  return false;
}

}  // namespace

SampledUse::SampledUse(std::span<const PerfEvent> events, int own, std::uint64_t line) : line_(line) {
  sampler_.exclude_thread(own);
  sampler_.start(events);
}

void SampledUse::begin(std::span<const WatchedRange> ranges) {
  sampler_.poll([](std::span<const MemorySample>) {});
  lines_.assign(ranges.size(), 0);
}

void SampledUse::take(std::span<const WatchedRange> ranges) {
  sampler_.poll([&](std::span<const MemorySample> samples) {
    for (const auto& sample : samples) {
      if (!is_from_memory(sample.level)) continue;
      const auto after = std::ranges::upper_bound(ranges, sample.address, {}, &WatchedRange::low);
      if (after == ranges.begin()) continue;
      const auto at = static_cast<std::size_t>(after - ranges.begin()) - 1;
      if (sample.address < ranges[at].high) lines_[at] += sample.weight;
    }
  });
}

void SampledUse::read(std::span<const WatchedRange> ranges, std::span<std::uint64_t> used) {
  lines_.resize(ranges.size());
  take(ranges);
  for (std::size_t i = 0; i < used.size(); ++i)
    used[i] = static_cast<std::uint64_t>(lines_[i] * static_cast<double>(line_));
}

}  // namespace terrace::observe
