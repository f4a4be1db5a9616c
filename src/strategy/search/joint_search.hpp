// A schedule while the joint planner improves it, item by item: rows of every phase, room in every place, and the
// best way of one item through the phases with all others where they are.
//
// It prices copies by the slack of the phases that they can run beside, not by the mover's queue: an estimate that
// is cheap to keep up to date. What counts in the end is model::predict.
#pragma once

#include <cstdint>
#include <vector>

#include "model/loads.hpp"
#include "model/problem.hpp"
#include "model/relaxation.hpp"

namespace terrace::strategy {

// How an item's ways are priced: `linear` 1 is by the prices of the rows alone (every row counts by its price), 0
// by the phases' times (only the longest row counts); `holding` scales the prices of capacity.
struct Pricing {
  const model::Multipliers* prices = nullptr;
  double linear = 0;
  double holding = 0;
};

class JointSearch {
 public:
  // Begins with every item at home, or where it is pinned.
  explicit JointSearch(const model::Problem& problem);
  // Begins with a schedule that keeps the budgets.
  JointSearch(const model::Problem& problem, const model::Schedule& schedule);

  // Whether rows that are nearly a phase's longest count, too: where many items are alike, none of them alone
  // shortens the longest row by leaving it.
  void smooth(bool smooth) { smooth_ = smooth; }
  // Gives the item the best way that fits, priced by the phases' times only where that shortens them; true when it
  // changed.
  bool improve(std::uint32_t item, const Pricing& pricing);
  // Exchanges the ways of two items of one domain if the phases' times gain by it and everything fits.
  bool exchange(std::uint32_t a, std::uint32_t b);
  // Takes the item to the place in every phase, whatever it costs; false when it does not fit.
  bool settle(std::uint32_t item, PlaceId place);

  // Sum of the phases' times, as far as the estimate goes.
  [[nodiscard]] double seconds() const;
  [[nodiscard]] const model::Schedule& schedule() const { return schedule_; }
  [[nodiscard]] bool at_home(std::uint32_t item) const;

 private:
  using Way = std::vector<PlaceId>;  // by phase
  // What a copy adds to a phase.
  struct Copying {
    std::uint32_t phase = 0;
    PlaceId from = 0, to = 0;
    double from_busy = 0, to_busy = 0, mover = 0, waiting = 0;
  };
  struct Extra {  // of a phase, beside its loads
    std::vector<double> busy;
    double mover = 0;
    double waiting = 0;
  };

  void take_out(std::uint32_t item);
  void put_in(std::uint32_t item, const Way& way);
  [[nodiscard]] bool fits(std::uint32_t item, const Way& way) const;
  [[nodiscard]] Way way_of(std::uint32_t item) const;
  [[nodiscard]] double time(std::size_t phase) const;
  [[nodiscard]] double time_with(std::size_t phase, const model::ItemCell& cell, PlaceId place) const;
  // Slack of the phases from each one to the item's next use: of the mover, and of each place's bandwidth.
  void find_slack(std::uint32_t item);
  [[nodiscard]] double copy_cost(std::uint32_t item, std::size_t phase, PlaceId from, PlaceId to) const;
  void add_copy(std::uint32_t item, std::size_t phase, PlaceId from, PlaceId to);
  [[nodiscard]] Way best_way(std::uint32_t item, const Pricing& pricing);
  [[nodiscard]] Way best_stay(const std::vector<PlaceId>& places, std::uint32_t item) const;

  const model::Problem& problem_;
  std::size_t phases_;
  bool smooth_ = false;
  model::Uses uses_;
  std::vector<std::vector<PlaceId>> places_;  // by domain
  std::vector<std::size_t> rank_;
  model::Schedule schedule_;
  std::vector<model::PhaseLoad> loads_;
  std::vector<Extra> extra_;                      // by phase
  std::vector<std::vector<std::uint64_t>> held_;  // [phase][place]
  std::vector<std::vector<Copying>> copies_;      // by item
  // Scratch of the item at hand.
  std::vector<double> cost_;                      // [phase][place of the domain]
  std::vector<bool> touched_;                     // by phase
  std::vector<double> mover_slack_;               // by phase
  std::vector<std::vector<double>> place_slack_;  // [place][phase]
};

}  // namespace terrace::strategy
