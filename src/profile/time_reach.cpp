#include "profile/time_reach.hpp"

#include <algorithm>
#include <cmath>

namespace terrace::profile {

TimeReach time_reach(const ReachRecord& record, bool in_loop) {
  double reached = 0, unreached = 0;
  for (const auto& code : record.code)
    (code.hooks ? reached : unreached) += static_cast<double>(code.in_loop + (in_loop ? 0 : code.elsewhere));
  const auto samples = reached + unreached;
  TimeReach result;
  if (samples <= 0) return result;
  const auto share = [&](double without_hooks) {
    return without_hooks / (without_hooks + (samples - without_hooks) / k_hook_slowdown);
  };
  result.samples = static_cast<std::uint64_t>(std::min(samples, 1e18));  // a damaged journal may say anything
  result.share = share(unreached);
  if (result.samples < k_least_samples) return result;
  // Samples fall on the one or the other independently.
  result.at_least = share(std::max(0.0, unreached - 2 * std::sqrt(unreached * reached / samples)));
  return result;
}

}  // namespace terrace::profile
