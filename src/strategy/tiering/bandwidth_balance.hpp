// When two memories are used evenly: each serves its share of both bandwidths (Agarwal et al., HPCA 2015,
// section V).
#pragma once

#include "strategy/policy.hpp"

namespace terrace::strategy {

// The paper samples every 10,000 cycles of 1.4 GHz.
inline constexpr Seconds k_balance_interval{10'000 / 1.4e9};
// As good as even.
inline constexpr double k_balance_near = 0.05;

// The share of the traffic that fast memory should serve.
inline double balance_of(const Tiers& tiers) {
  return tiers.fast_bandwidth.value / (tiers.fast_bandwidth.value + tiers.slow_bandwidth.value);
}

}  // namespace terrace::strategy
