// Interleaving, as `numactl --interleave` and Linux 6.9's weighted interleave have it: chunks round robin over the
// places of their domain, in the order in which the program makes them, 1:1 or in the ratio of the bandwidths;
// what a full place would get lies at home. No traffic is looked at, nothing moves. The kernel's unit is the page,
// ours the chunk.
#include <algorithm>

#include "strategy/planners/planners.hpp"
#include "strategy/search/choose.hpp"
#include "strategy/search/interleave_weights.hpp"

namespace terrace::strategy {
namespace {

RoundRobin turns_of(const model::Problem& problem, DomainId domain, bool weighted) {
  const auto& places = model::fastest_first(problem, domain);
  std::vector<double> bandwidths;
  bandwidths.reserve(places.size());
  for (const auto place : places)
    bandwidths.push_back(std::min(problem.places[place].read_bandwidth, problem.places[place].write_bandwidth));
  return round_robin(weighted, places, bandwidths);
}

class Interleave final : public Planner {
 public:
  explicit Interleave(bool weighted) : weighted_(weighted) {}
  [[nodiscard]] std::string_view name() const override { return weighted_ ? k_weighted_interleave : k_interleave; }
  [[nodiscard]] bool needs_profile() const override { return false; }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration&, Effort) const override {
    auto placement = at_home(problem);
    auto room = room_beside_pins(problem);
    std::vector<RoundRobin> turns;
    for (std::size_t d = 0; d < model::domain_count(problem); ++d)
      turns.push_back(turns_of(problem, static_cast<DomainId>(d), weighted_));
    for (std::size_t i = 0; i < placement.size(); ++i) {
      const auto& item = problem.items[i];
      if (item.pinned != k_no_place) continue;
      const auto place = turns[item.domain].next();
      if (room[place] < item.size) continue;
      room[place] -= item.size;
      placement[i] = place;
    }
    return stay(problem, placement);
  }

 private:
  bool weighted_;
};

}  // namespace

const Planner& interleave_planner() {
  static const Interleave planner(false);
  return planner;
}

const Planner& weighted_interleave_planner() {
  static const Interleave planner(true);
  return planner;
}

}  // namespace terrace::strategy
