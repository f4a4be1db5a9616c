// SPDX-License-Identifier: Apache-2.0
// Interleaves chunks over the places of their domain, 1:1 or by bandwidth, for the variants interleave and
// weighted-interleave. See interleave.hpp.
#include "strategy/tiering/interleave.hpp"

#include <algorithm>
#include <numeric>

#include "strategy/static_decision.hpp"

namespace terrace::strategy {

Decision Interleave::decide(const model::Problem& problem, const model::Calibration&, Effort) const {
  auto placement = home_placement(problem);
  auto room = model::unpinned_budget(problem);
  std::vector<RoundRobin> turns;
  for (std::size_t d = 0; d < model::domain_count(problem); ++d) {
    const auto& places = model::fastest_first(problem, static_cast<DomainId>(d));
    std::vector<double> bandwidths;
    bandwidths.reserve(places.size());
    for (const auto place : places)
      bandwidths.push_back(std::min(problem.places[place].read_bandwidth, problem.places[place].write_bandwidth));
    turns.push_back(round_robin(weighted_, places, bandwidths));
  }
  for (std::size_t i = 0; i < placement.size(); ++i) {
    const auto& item = problem.items[i];
    if (item.pinned != k_no_place) continue;
    const auto place = turns[item.domain].next();
    if (room[place] < item.size) continue;
    room[place] -= item.size;
    placement[i] = place;
  }
  return static_decision(problem, placement);
}

std::unique_ptr<Strategy> Interleave::start(const Context& context) const {
  std::vector<double> bandwidths;
  for (const auto place : context.places()) {
    const auto& path = context.machine->path(context.initiator, place);
    bandwidths.push_back(std::min(path.read.value, path.write.value));
  }
  return std::make_unique<FixedStrategy>([turns = round_robin(weighted_, context.places(), bandwidths)](
                                             const observe::Object&, std::uint32_t) mutable {
    return PlacementExtent{turns.next(), 1};
  });
}

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
