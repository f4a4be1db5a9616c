// The default: what predicts the least time among the paper's planner and the one that streams.
#include "placement/planner/planners.hpp"

namespace terrace::placement {
namespace {

class Auto final : public Planner {
 public:
  [[nodiscard]] std::string_view name() const override { return "auto"; }
  [[nodiscard]] Decision decide(const model::Problem& problem,
                                const model::Calibration& calibration) const override {
    auto best = unimem_planner().decide(problem, calibration);
    auto stream = stream_planner().decide(problem, calibration);
    return stream.prediction.total < best.prediction.total ? stream : best;
  }
};

}  // namespace

const Planner& auto_planner() {
  static const Auto planner;
  return planner;
}

}  // namespace terrace::placement
