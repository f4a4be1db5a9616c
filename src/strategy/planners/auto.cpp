// The default: the joint planner, which includes all that decide from a profile.
#include "strategy/planners/planners.hpp"

namespace terrace::strategy {
namespace {

class Auto final : public Planner {
 public:
  [[nodiscard]] std::string_view name() const override { return "auto"; }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration& calibration,
                                Effort effort) const override {
    return joint_planner().decide(problem, calibration, effort);
  }
  [[nodiscard]] Decision decide_after(const Decision& meanwhile, const model::Problem& problem,
                                      const model::Calibration& calibration, Effort effort) const override {
    return joint_planner().decide_after(meanwhile, problem, calibration, effort);
  }
  [[nodiscard]] bool gains_by(const model::Problem& problem, Effort effort) const override {
    return joint_planner().gains_by(problem, effort);
  }
  [[nodiscard]] Seconds takes(const model::Problem& problem, Effort effort) const override {
    return joint_planner().takes(problem, effort);
  }
  [[nodiscard]] const Planner* meanwhile() const override { return joint_planner().meanwhile(); }
};

}  // namespace

const Planner& auto_planner() {
  static const Auto planner;
  return planner;
}

const Variant& auto_variant() { return auto_planner(); }

}  // namespace terrace::strategy
