// Everything in its domain's home, the memory with the most capacity: what happens without placement.
#include "strategy/fixed_placement.hpp"
#include "strategy/search/choose.hpp"

namespace terrace::strategy {
namespace {

class SlowOnly final : public FixedPlacement {
 public:
  [[nodiscard]] std::string_view name() const override { return "slow-only"; }
  [[nodiscard]] std::unique_ptr<Strategy> start(const Context& context) const override {
    return stay_at_home(context);
  }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration&, Effort) const override {
    return stay(problem, at_home(problem));
  }
};

}  // namespace

const Variant& slow_only_variant() {
  static const SlowOnly variant;
  return variant;
}

}  // namespace terrace::strategy
