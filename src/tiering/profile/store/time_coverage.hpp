// The share of a program's time that code without hooks takes, from samples of a run under hooks.
#pragma once

#include <cstdint>

#include "profile/records.hpp"

namespace terrace::profile {

// Code with hooks is slower for them, Terrace's own work not counted: about twice, by the workloads
// (docs/coverage.md). So much less of its time is the program's.
inline constexpr double k_hook_slowdown = 2;

// Fewer samples say nothing.
inline constexpr std::uint64_t k_min_samples = 20;

struct TimeCoverage {
  std::uint64_t samples = 0;  // that it rests on
  double share = 0;           // of the time that the program would take without hooks, spent in code without hooks
  double at_least = 0;        // two standard deviations below it; nothing where there are few samples
};

// In the main loops; of a program without one, in all.
TimeCoverage time_coverage(const CoverageRecord& record, bool in_loop);

}  // namespace terrace::profile
