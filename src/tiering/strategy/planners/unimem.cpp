// SPDX-License-Identifier: Apache-2.0
// Implements the planner of `--planner unimem`: Unimem's planner, the better of phase-local and cross-phase global
// search by predicted time.
#include "strategy/planners/planners.hpp"

namespace terrace::strategy {
namespace {

class Unimem final : public Planner {
 public:
  [[nodiscard]] std::string_view name() const override { return "unimem"; }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration& calibration,
                                Effort effort) const override {
    auto global = global_planner().decide(problem, calibration, effort);
    auto local = local_planner().decide(problem, calibration, effort);
    return local.prediction.total < global.prediction.total ? local : global;
  }
};

}  // namespace

const Planner& unimem_planner() {
  static const Unimem planner;
  return planner;
}

const Variant& unimem_variant() { return unimem_planner(); }

}  // namespace terrace::strategy
