// Everything in its domain's home, the memory with the most capacity: what happens without placement.
#include "strategy/planners/planners.hpp"
#include "strategy/search/choose.hpp"

namespace terrace::strategy {
namespace {

class SlowOnly final : public Planner {
 public:
  [[nodiscard]] std::string_view name() const override { return "slow-only"; }
  [[nodiscard]] bool needs_profile() const override { return false; }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration&, Effort) const override {
    return stay(problem, at_home(problem));
  }
};

}  // namespace

const Planner& slow_only_planner() {
  static const SlowOnly planner;
  return planner;
}

}  // namespace terrace::strategy
