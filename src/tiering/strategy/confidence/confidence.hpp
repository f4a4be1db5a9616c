// SPDX-License-Identifier: Apache-2.0
// Estimates the confidence of a plan by Monte Carlo propagation of sampling error through the model and the
// planner. Problems are drawn that the samples might have come from (model/uncertainty), and each is planned. The
// differences of these plans, and their gain, show the effect of the error. `terrace plan` calls it through the
// Python bindings; it is not part of users' processes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan.hpp"
#include "model/calibration.hpp"
#include "model/problem.hpp"
#include "strategy/planner.hpp"

namespace terrace::strategy {

// How much of an object resides outside its home (the place where it would be without Terrace), as a share of its
// bytes, weighted by the phases' times.
struct PlacedShare {
  double planned = 0;
  std::vector<double> drawn;  // by draw
};

struct Confidence {
  std::vector<double> regrets;  // by draw: regret_under() the draw
  std::vector<double> times;    // by draw: seconds of an iteration with the plan, if the draw was the truth
  // Indexed by object and part of the plan: the share of draws whose plans place the part's bytes there initially.
  std::vector<std::vector<double>> parts;
  std::vector<PlacedShare> objects;  // as in the problem

  [[nodiscard]] Seconds regret() const;                 // mean
  [[nodiscard]] Seconds regret_at(double share) const;  // quantile
};

// The loss of a plan that was made of an estimate: its predicted time under `truth`, less that of the best plan
// found for the truth by the same planner (and, for the default one, by a search that begins at the plan itself).
// If that best plan is also faster on the estimate, the planner's search had missed it there: this part of the
// gain is not due to sampling, and is subtracted. Never below 0.
struct Regret {
  double seconds = 0;
  Decision best;
};
// Returns the regret of `chosen`. Requires: both problems have the same items, phases and places; else throws
// Error{invalid}.
Regret regret_under(const model::Problem& estimate, const model::Problem& truth,
                    const model::Calibration& calibration, const Planner& planner, const Decision& chosen);

// Returns the confidence of a plan. `chosen` is the thorough decision of `planner`, and `plan` is what make_plan()
// made of it. Draws are planned as thoroughly, in parallel on all cores. Draws of problems of over 20,000 items x
// phases are planned quickly, and compared with a quick plan. Deterministic.
Confidence confidence_of(const model::Problem& problem, const model::Calibration& calibration,
                         const Planner& planner, const Decision& chosen, const Plan& plan, std::uint32_t draws);

// Clamps the regret of each draw to the plan's time in that draw less `bound`, the lower bound of an iteration's
// time under any placement.
void limit_regrets(Confidence& confidence, Seconds bound);

// Writes the confidence into the plan: the regret's mean and 90 % interval, which begins at 0, and the confidence
// of each part.
void annotate(Plan& plan, const Confidence& confidence);

}  // namespace terrace::strategy
