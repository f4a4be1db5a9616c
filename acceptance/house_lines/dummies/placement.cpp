// A placement that makes everything at home.
#include "strategy/fixed_placement.hpp"
#include "strategy/search/choose.hpp"

namespace terrace::strategy {
namespace {

class Dummy final : public FixedPlacement {
 public:
  [[nodiscard]] std::string_view name() const override { return "dummy"; }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration&, Effort) const override {
    return stay(problem, at_home(problem));
  }
  [[nodiscard]] std::unique_ptr<Strategy> start(const Context& context) const override {
    return stay_at_home(context);
  }
};

}  // namespace

const Variant& dummy_variant() {
  static const Dummy variant;
  return variant;
}

}  // namespace terrace::strategy
