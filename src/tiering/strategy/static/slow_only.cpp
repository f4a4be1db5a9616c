// SPDX-License-Identifier: Apache-2.0
// Implements `--planner slow-only`: puts all data into its domain's home, the memory with the most capacity, as
// without placement.
#include "strategy/static_decision.hpp"
#include "strategy/tiering/fixed_placement.hpp"

namespace terrace::strategy {
namespace {

class SlowOnly final : public FixedPlacement {
 public:
  [[nodiscard]] std::string_view name() const override { return "slow-only"; }
  [[nodiscard]] std::unique_ptr<Strategy> start(const Context& context) const override {
    return home_strategy(context);
  }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration&, Effort) const override {
    return static_decision(problem, home_placement(problem));
  }
};

}  // namespace

const Variant& slow_only_variant() {
  static const SlowOnly variant;
  return variant;
}

}  // namespace terrace::strategy
