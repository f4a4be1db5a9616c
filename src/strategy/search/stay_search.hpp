// A placement that never moves while the joint planner improves it: items are tried in every place with all others
// where they are, at the cost of the cells that they have.
#pragma once

#include <cstdint>
#include <vector>

#include "model/problem_index.hpp"
#include "strategy/search/joint_search.hpp"

namespace terrace::strategy {

class StaySearch {
 public:
  // Begins with every item at home, or where it is pinned. `prices` are those of the lower bound.
  StaySearch(const model::ProblemIndex& index, const model::Multipliers& prices);

  // Gives the item the best place with room; `linear` and `holding` as in Pricing.
  void improve(std::uint32_t item, double linear, double holding);
  // Exchanges the places of two items of one domain if the phases' times gain by it and both fit.
  bool exchange(std::uint32_t a, std::uint32_t b);

  // Sum of the phases' times.
  [[nodiscard]] double seconds() const;
  [[nodiscard]] const model::Placement& placement() const { return placement_; }
  [[nodiscard]] bool at_home(std::uint32_t item) const { return placement_[item] == index_.home(item); }

 private:
  void shift(std::uint32_t item, PlaceId place, double sign);
  [[nodiscard]] bool fits(std::uint32_t item, PlaceId place) const;
  [[nodiscard]] double time(std::size_t phase) const;
  [[nodiscard]] double time_with(const model::Use& use, PlaceId place) const;
  [[nodiscard]] double cost(std::uint32_t item, PlaceId place, double linear, double holding) const;

  const model::ProblemIndex& index_;
  const model::Problem& problem_;
  const model::Multipliers& prices_;
  std::size_t all_;                           // places
  std::vector<std::vector<PlaceId>> places_;  // by domain, fastest first
  model::Placement placement_;                // by item
  std::vector<double> stalled_;               // by phase: C + D
  std::vector<double> busy_;                  // [phase x place]
  std::vector<std::uint64_t> held_;           // by place
  std::vector<double> holding_;               // by place: its capacity's price, s/byte, over all phases
};

}  // namespace terrace::strategy
