// SPDX-License-Identifier: Apache-2.0
// Implements `--planner fast-only`: puts all data into the fastest place of its domain, whatever the budget. The
// upper bound of the gain.
#include "strategy/tiering/fixed_placement.hpp"

namespace terrace::strategy {
namespace {

class FastOnly final : public FixedPlacement {
 public:
  [[nodiscard]] std::string_view name() const override { return "fast-only"; }
  [[nodiscard]] bool ignores_budget() const override { return true; }
  [[nodiscard]] std::unique_ptr<Strategy> start(const Context& context) const override {
    return std::make_unique<FixedStrategy>(
        [fastest = context.places().front()](const observe::Object&, std::uint32_t left) {
          return PlacementExtent{fastest, left};
        });
  }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration&, Effort) const override {
    std::vector<PlaceId> fastest;
    for (std::size_t d = 0; d < model::domain_count(problem); ++d) {
      const auto& places = model::fastest_first(problem, static_cast<DomainId>(d));
      fastest.push_back(places.empty() ? k_no_place : places.front());
    }
    Decision decision;
    decision.schedule = model::uniform_schedule(problem, fastest);
    decision.prediction = model::predict(problem, decision.schedule);
    return decision;
  }
};

}  // namespace

const Variant& fast_only_variant() {
  static const FastOnly variant;
  return variant;
}

}  // namespace terrace::strategy
