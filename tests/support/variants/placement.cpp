// A placement that makes everything at home.
#include "strategy/static_decision.hpp"
#include "strategy/tiering/fixed_placement.hpp"

namespace terrace::strategy {
namespace {

class Dummy final : public FixedPlacement {
 public:
  [[nodiscard]] std::string_view name() const override { return "dummy"; }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration&, Effort) const override {
    return static_decision(problem, home_placement(problem));
  }
  [[nodiscard]] std::unique_ptr<Strategy> start(const Context& context) const override {
    return home_strategy(context);
  }
};

}  // namespace

const Variant& dummy_variant() {
  static const Dummy variant;
  return variant;
}

}  // namespace terrace::strategy
