// SPDX-License-Identifier: Apache-2.0
// See rate_limits.hpp.
#include "model/rate_limits.hpp"

#include <algorithm>
#include <set>

namespace terrace::model {
namespace {

constexpr double k_steps = 100;
constexpr double k_half_a_step = 0.5 / k_steps;

// Seconds of a place's bandwidth that one second of copying at full speed takes.
struct Taken {
  PlaceId place = 0;
  double seconds = 0;

  auto operator<=>(const Taken&) const = default;
};

std::set<Taken> taken_by(const Problem& problem, const MoveList& list) {
  std::set<Taken> taken;
  for (const auto& move : list.moves) {
    const auto bandwidth = problem.copy[move.from][move.to];
    taken.insert({move.from, bandwidth / problem.places[move.from].read_bandwidth});
    taken.insert({move.to, bandwidth / problem.places[move.to].write_bandwidth});
  }
  return taken;
}

}  // namespace

std::vector<double> rate_limits(const Problem& problem, const Schedule& schedule,
                                const std::vector<PhaseLoad>& loads, const MoveList& list) {
  std::vector<double> rate_limits;
  if (schedule.min_copy_share >= k_unlimited_copy_share || list.moves.empty()) return rate_limits;
  const auto taken = taken_by(problem, list);
  for (std::size_t k = 0; k < loads.size(); ++k) {
    const auto alone = loads[k].time() + problem.phases[k].unexplained.value;
    double rate_limit = 1;
    for (const auto& [place, seconds] : taken) {
      if (alone <= 0) continue;
      const auto left = std::max(1 - loads[k].busy(place) / alone, schedule.min_copy_share);
      rate_limit = std::min(rate_limit, left / seconds);
    }
    const auto nearest = static_cast<int>((rate_limit + k_half_a_step) * k_steps);
    rate_limits.push_back(std::max(nearest, 1) / k_steps);
  }
  return rate_limits;
}

}  // namespace terrace::model
