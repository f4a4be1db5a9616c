// SPDX-License-Identifier: Apache-2.0
// Implements `--planner first-touch`: puts each chunk, in allocation order, into the fastest place with free
// space.
#include "strategy/static_decision.hpp"
#include "strategy/tiering/fixed_placement.hpp"

namespace terrace::strategy {
namespace {

class FirstTouch final : public FixedPlacement {
 public:
  [[nodiscard]] std::string_view name() const override { return "first-touch"; }
  [[nodiscard]] std::unique_ptr<Strategy> start(const Context& context) const override {
    return first_fit_strategy(context);
  }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration&, Effort) const override {
    auto placement = home_placement(problem);
    auto room = model::unpinned_budget(problem);
    for (std::size_t i = 0; i < placement.size(); ++i) {
      const auto& item = problem.items[i];
      if (item.pinned != k_no_place) continue;
      for (const auto place : model::fastest_first(problem, item.domain)) {
        if (room[place] < item.size) continue;
        room[place] -= item.size;
        placement[i] = place;
        break;
      }
    }
    return static_decision(problem, placement);
  }
};

}  // namespace

const Variant& first_touch_variant() {
  static const FirstTouch variant;
  return variant;
}

}  // namespace terrace::strategy
