// When two memories are used evenly: each serves its share of both bandwidths (Agarwal et al., HPCA 2015,
// section V).
#pragma once

#include "strategy/policy.hpp"
#include "strategy/tiering/promotion_fifo.hpp"

namespace terrace::strategy {

// The paper samples every 10,000 cycles of 1.4 GHz.
inline constexpr Seconds k_balance_interval{10'000 / 1.4e9};
// As good as even.
inline constexpr double k_balance_near = 0.05;

// The share of the traffic that fast memory should serve.
inline double balance_of(const Tiers& tiers) {
  return tiers.fast_bandwidth.value / (tiers.fast_bandwidth.value + tiers.slow_bandwidth.value);
}

// The share that it does serve: a moving average, in which each look counts as much as all before it together.
class ServedShare {
 public:
  // An interval with traffic; without any, nothing changes and it is false.
  bool add_interval(const observe::Observation& seen, const Tiers& tiers);
  [[nodiscard]] double value() const { return average_; }

 private:
  double average_ = -1;  // below 0: nothing was seen
};

// Fast memory serves `surplus` too much: what came first leaves, a sixteenth of that share of what came.
void demote_surplus(PromotionFifo& fifo, double surplus, const Tiers& tiers, PolicyChoice& choice);

}  // namespace terrace::strategy
