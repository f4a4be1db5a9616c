// SPDX-License-Identifier: Apache-2.0
// See interleave_weights.hpp.
#include "strategy/tiering/interleave_weights.hpp"

#include <algorithm>
#include <numeric>

namespace terrace::strategy {

std::vector<std::uint32_t> interleave_weights(std::span<const double> bandwidths) {
  constexpr double k_weightiness = 32;
  const auto sum = std::accumulate(bandwidths.begin(), bandwidths.end(), 0.0);
  std::vector<std::uint32_t> weights;
  std::uint32_t divisor = 0;
  for (const auto bandwidth : bandwidths) {
    weights.push_back(std::max(1U, static_cast<std::uint32_t>(k_weightiness * bandwidth / sum)));
    divisor = std::gcd(divisor, weights.back());
  }
  for (auto& weight : weights) weight /= divisor;
  return weights;
}

RoundRobin round_robin(bool weighted, const std::vector<PlaceId>& places, std::span<const double> bandwidths) {
  return {places, weighted ? interleave_weights(bandwidths) : std::vector<std::uint32_t>(places.size(), 1)};
}

}  // namespace terrace::strategy
