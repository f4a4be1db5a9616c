// SPDX-License-Identifier: Apache-2.0
// Implements the planner of `--planner global`: Unimem's cross-phase global search. The planner "unimem" calls it,
// too. Treats all phases as one, by one knapsack; nothing moves within an iteration.
#include "model/unimem_model.hpp"
#include "strategy/planners/planners.hpp"
#include "strategy/search/choose.hpp"
#include "strategy/static_decision.hpp"

namespace terrace::strategy {
namespace {

class Global final : public Planner {
 public:
  [[nodiscard]] std::string_view name() const override { return "global"; }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration& calibration,
                                Effort) const override {
    const model::UnimemModel unimem(problem, calibration);
    std::vector<std::uint32_t> items(problem.items.size());
    std::vector<std::vector<double>> values(problem.items.size(), std::vector<double>(problem.places.size(), 0));
    for (std::uint32_t i = 0; i < items.size(); ++i) items[i] = i;
    for (std::size_t k = 0; k < problem.phases.size(); ++k) {
      for (const auto& cell : problem.phases[k].cells) {
        const auto& item = problem.items[cell.item];
        const auto home = model::home_of(problem, item.domain);
        for (std::size_t p = 0; p < problem.places.size(); ++p) {
          if (problem.places[p].domain != item.domain) continue;
          values[cell.item][p] += unimem.benefit(k, cell, home, static_cast<PlaceId>(p));
        }
      }
    }
    const auto choice = choose_places(problem, items, values, budgets_of(problem));
    return static_decision(problem, choice.places, choice.value > 0 ? choice.gap / choice.value : 0);
  }
};

}  // namespace

const Planner& global_planner() {
  static const Global planner;
  return planner;
}

const Variant& global_variant() { return global_planner(); }

}  // namespace terrace::strategy
