// SPDX-License-Identifier: Apache-2.0
// Chooses one place per item at given prices of time and bandwidth, for the default planner, and as the planner of
// a first plan at run time. See static_planner.hpp.
#include "strategy/search/static_planner.hpp"

#include <numeric>
#include <vector>

#include "model/costs.hpp"
#include "model/loads.hpp"
#include "model/lower_bound.hpp"
#include "strategy/search/choose.hpp"
#include "strategy/static_decision.hpp"

namespace terrace::strategy {

namespace {

class StaticPlanner final : public Planner {
 public:
  [[nodiscard]] std::string_view name() const override { return "stay"; }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration&, Effort) const override {
    return priced_static_decision(problem, model::prices_at_home(problem));
  }
  [[nodiscard]] Seconds planning_time(const model::Problem& problem, Effort) const override {
    return static_cast<double>(model::cell_count(problem)) * model::k_first_plan_cost +
           static_cast<double>(problem.items.size()) * model::k_first_way_cost;
  }
};

}  // namespace

Decision priced_static_decision(const model::Problem& problem, const model::Multipliers& prices) {
  const auto places = problem.places.size();
  std::vector<std::uint32_t> items(problem.items.size());
  std::iota(items.begin(), items.end(), 0U);
  std::vector<std::vector<double>> values(items.size(), std::vector<double>(places, 0));
  for (std::size_t k = 0; k < problem.phases.size(); ++k) {
    const auto* row = &prices.row[k * (places + 2)];
    for (const auto& cell : problem.phases[k].cells)
      for (std::size_t p = 0; p < places; ++p)
        values[cell.item][p] -= row[0] * model::exposed_time(cell, problem.places[p]) +
                                row[1 + p] * model::busy_time(cell, problem.places[p]);
  }
  return static_decision(problem, choose_places(problem, items, values, budgets_of(problem)).places);
}

const Planner& static_planner() {
  static const StaticPlanner planner;
  return planner;
}

}  // namespace terrace::strategy
