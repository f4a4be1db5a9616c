// The default: what predicts the least time of the joint planner, which includes the one that streams, and the
// paper's.
#include "placement/planner/planners.hpp"

namespace terrace::placement {
namespace {

class Auto final : public Planner {
 public:
  [[nodiscard]] std::string_view name() const override { return "auto"; }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration& calibration,
                                Effort effort) const override {
    auto joint = joint_planner().decide(problem, calibration, effort);
    auto unimem = unimem_planner().decide(problem, calibration, effort);
    unimem.lower_bound = joint.lower_bound;
    return unimem.prediction.total < joint.prediction.total ? unimem : joint;
  }
};

}  // namespace

const Planner& auto_planner() {
  static const Auto planner;
  return planner;
}

}  // namespace terrace::placement
