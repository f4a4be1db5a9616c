// A planner that leaves everything at home.
#include "strategy/planner.hpp"

#include "strategy/static_decision.hpp"

namespace terrace::strategy {
namespace {

class Dummy final : public Planner {
 public:
  [[nodiscard]] std::string_view name() const override { return "dummy"; }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration&, Effort) const override {
    return static_decision(problem, home_placement(problem));
  }
};

}  // namespace

const Variant& dummy_variant() {
  static const Dummy variant;
  return variant;
}

}  // namespace terrace::strategy
