// SPDX-License-Identifier: Apache-2.0
// Estimates the share of a program's time in code without instrumentation hooks, from samples of an instrumented
// run. The merge writes it to the table `coverage`.
#pragma once

#include <cstdint>

#include "profile/records.hpp"

namespace terrace::profile {

// Slowdown of code with hooks, without Terrace's own work: about 2, measured with the workloads
// (docs/how-to/instrumented-builds.md). Its sampled time is divided by this factor.
inline constexpr double k_hook_slowdown = 2;

// Min number of samples for a significant result.
inline constexpr std::uint64_t k_min_samples = 20;

struct TimeCoverage {
  std::uint64_t samples = 0;  // number of samples used
  double share = 0;           // share of the program's uninstrumented time spent in code without hooks
  double at_least = 0;        // two standard deviations below `share`; 0 with too few samples
};

// Returns the estimate for the time in main loops (`in_loop`), or for the whole time.
TimeCoverage time_coverage(const CoverageRecord& record, bool in_loop);

}  // namespace terrace::profile
