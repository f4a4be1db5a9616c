// SPDX-License-Identifier: Apache-2.0
// Measures whether two memories are used in proportion to their bandwidths (Agarwal et al., HPCA 2015, section V),
// for GPU policies (touch_policy.hpp, even_policy.hpp).
#pragma once

#include "strategy/policy.hpp"
#include "strategy/tiering/promotion.hpp"

namespace terrace::strategy {

// The paper samples every 10,000 cycles of 1.4 GHz.
inline constexpr Seconds k_balance_interval{10'000 / 1.4e9};
// Deviations from the target share below this count as balanced.
inline constexpr double k_balance_near = 0.05;

// Returns the share of the traffic that fast memory should serve.
inline double balance_of(const Tiers& tiers) {
  return tiers.fast_bandwidth.value / (tiers.fast_bandwidth.value + tiers.slow_bandwidth.value);
}

// The share that fast memory serves: a moving average in which each interval weighs as much as all earlier ones.
class ServedShare {
 public:
  // Adds an interval. Returns false, and changes nothing, if it had no traffic.
  bool add_interval(const observe::Observation& seen, const Tiers& tiers);
  [[nodiscard]] double value() const { return average_; }

 private:
  double average_ = -1;  // below 0: no interval yet
};

// Demotes the oldest promoted chunks because fast memory serves `surplus` too much of the traffic: a sixteenth of
// that share of the promoted chunks.
void demote_surplus(PromotionFifo& fifo, double surplus, const Tiers& tiers, PolicyChoice& choice);

}  // namespace terrace::strategy
