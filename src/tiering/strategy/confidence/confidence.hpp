// How sure a plan is: sampling error carried through the model and the planner. Problems are drawn that the
// samples might have come from (model/uncertainty), each is planned, and what these plans do otherwise, and
// gain, is what the error does to the plan. Stays outside users' processes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan.hpp"
#include "model/calibration.hpp"
#include "model/problem.hpp"
#include "strategy/planner.hpp"

namespace terrace::strategy {

// An object's share, by bytes and by the phases' times, that is not at home.
struct PlacedShare {
  double planned = 0;
  std::vector<double> drawn;  // by draw
};

struct Confidence {
  std::vector<double> regrets;  // by draw: regret_under() the draw
  std::vector<double> times;    // by draw: seconds of an iteration with the plan, were the draw true
  // By object and part of the plan: the share of draws that place the part's bytes there when the loop begins.
  std::vector<std::vector<double>> parts;
  std::vector<PlacedShare> objects;  // as in the problem

  [[nodiscard]] Seconds regret() const;                 // mean
  [[nodiscard]] Seconds regret_at(double share) const;  // quantile of what is true
};

// What a plan made of the estimate loses where `truth` is what is true: its predicted time less that of the best
// plan found for the truth, by the same planner and, for the default one, by a search that begins at the plan
// itself. What that other plan would gain on the estimate, too, is the search's luck and none of sampling's: it is
// taken off. Never below 0. Both problems have the same items, phases and places; throws Error{invalid} where they
// do not.
struct Regret {
  double seconds = 0;
  Decision best;
};
Regret regret_under(const model::Problem& estimate, const model::Problem& truth,
                    const model::Calibration& calibration, const Planner& planner, const Decision& chosen);

// `plan` is make_plan's of `chosen`, which is `planner`'s thorough decision. Draws are planned as thoroughly, on
// all processors; those of problems of over 20,000 items x phases quickly, and it is a quick plan's regret, too.
// The same call always gives the same answer.
Confidence confidence_of(const model::Problem& problem, const model::Calibration& calibration,
                         const Planner& planner, const Decision& chosen, const Plan& plan, std::uint32_t draws);

// Clamps the regret of each draw to the plan's time in that draw less `bound`, the lower bound of an iteration's
// time under any placement.
void limit_regrets(Confidence& confidence, Seconds bound);

// Writes it into the plan: the regret's mean and its 90 % interval, which begins at 0, and each part's confidence.
void annotate(Plan& plan, const Confidence& confidence);

}  // namespace terrace::strategy
