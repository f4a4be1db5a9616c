// The default: what predicts the least time among the joint planner, the paper's, and the one that streams.
#include <utility>

#include "placement/planner/planners.hpp"

namespace terrace::placement {
namespace {

class Auto final : public Planner {
 public:
  [[nodiscard]] std::string_view name() const override { return "auto"; }
  [[nodiscard]] Decision decide(const model::Problem& problem,
                                const model::Calibration& calibration) const override {
    auto best = joint_planner().decide(problem, calibration);
    const auto bound = best.lower_bound;
    for (const auto* planner : {&unimem_planner(), &stream_planner()}) {
      auto other = planner->decide(problem, calibration);
      if (other.prediction.total < best.prediction.total) best = std::move(other);
    }
    best.lower_bound = bound;
    return best;
  }
};

}  // namespace

const Planner& auto_planner() {
  static const Auto planner;
  return planner;
}

}  // namespace terrace::placement
