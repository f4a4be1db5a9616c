// SPDX-License-Identifier: Apache-2.0
// Estimates the share of time in code without hooks, for the table `coverage` of a store. See time_coverage.hpp.
#include "profile/store/time_coverage.hpp"

#include <algorithm>
#include <cmath>

namespace terrace::profile {

TimeCoverage time_coverage(const CoverageRecord& record, bool in_loop) {
  double covered = 0, uncovered = 0;
  for (const auto& code : record.code)
    (code.hooks ? covered : uncovered) += (code.in_loop + (in_loop ? Seconds{} : code.elsewhere)).value;
  const auto period = record.sample_period.value;
  TimeCoverage result;
  // A damaged journal may contain any values.
  if (!(covered >= 0 && uncovered >= 0 && covered + uncovered > 0 && period > 0)) return result;
  covered /= period;
  uncovered /= period;
  const auto samples = covered + uncovered;
  const auto share = [&](double without_hooks) {
    return without_hooks / (without_hooks + (samples - without_hooks) / k_hook_slowdown);
  };
  result.samples = static_cast<std::uint64_t>(std::min(samples, 1e18));
  result.share = share(uncovered);
  if (result.samples < k_min_samples) return result;
  // Binomial standard deviation: samples are independent.
  result.at_least = share(std::max(0.0, uncovered - 2 * std::sqrt(uncovered * covered / samples)));
  return result;
}

}  // namespace terrace::profile
