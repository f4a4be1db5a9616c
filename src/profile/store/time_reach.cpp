#include "profile/store/time_reach.hpp"

#include <algorithm>
#include <cmath>

namespace terrace::profile {

TimeReach time_reach(const ReachRecord& record, bool in_loop) {
  double reached = 0, unreached = 0;
  for (const auto& code : record.code)
    (code.hooks ? reached : unreached) += (code.in_loop + (in_loop ? Seconds{} : code.elsewhere)).value;
  const auto period = record.sample_period.value;
  TimeReach result;
  // A damaged journal may say anything.
  if (!(reached >= 0 && unreached >= 0 && reached + unreached > 0 && period > 0)) return result;
  reached /= period;
  unreached /= period;
  const auto samples = reached + unreached;
  const auto share = [&](double without_hooks) {
    return without_hooks / (without_hooks + (samples - without_hooks) / k_hook_slowdown);
  };
  result.samples = static_cast<std::uint64_t>(std::min(samples, 1e18));
  result.share = share(unreached);
  if (result.samples < k_least_samples) return result;
  // Samples fall on the one or the other independently.
  result.at_least = share(std::max(0.0, unreached - 2 * std::sqrt(unreached * reached / samples)));
  return result;
}

}  // namespace terrace::profile
