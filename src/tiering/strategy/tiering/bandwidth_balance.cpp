// SPDX-License-Identifier: Apache-2.0
// Averages the share of the traffic that fast memory serves, and demotes chunks if that is too much, for GPU
// policies. See bandwidth_balance.hpp.
#include "strategy/tiering/bandwidth_balance.hpp"

#include <cmath>

namespace terrace::strategy {

bool ServedShare::add_interval(const observe::Observation& seen, const Tiers& tiers) {
  const auto fast = seen.places[tiers.fast].reads;
  const auto all = fast + seen.places[tiers.slow].reads;
  if (all <= 0) return false;
  average_ = average_ < 0 ? fast / all : (average_ + fast / all) / 2;
  return true;
}

void demote_surplus(PromotionFifo& fifo, double surplus, const Tiers& tiers, PolicyChoice& choice) {
  for (auto count = std::ceil(surplus * static_cast<double>(fifo.num_promoted()) / 16); count > 0; --count) {
    const auto oldest = fifo.pop_oldest(tiers);
    if (!oldest) return;
    fifo.demote(*oldest, tiers, choice);
  }
}

}  // namespace terrace::strategy
