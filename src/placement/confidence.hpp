// How sure a plan is: sampling error carried through the model and the planner. Problems are drawn that the samples
// might have come from (model/sampling_error.hpp), each is planned, and what these plans do otherwise, and gain, is
// what the error does to the plan. Stays outside users' processes.
#pragma once

#include <cstdint>
#include <vector>

#include "model/calibration.hpp"
#include "model/problem.hpp"
#include "placement/plan.hpp"
#include "placement/planner.hpp"

namespace terrace::placement {

// An object's share, by bytes and by the phases' times, that does not lie at home.
struct PlacedShare {
  double planned = 0;
  std::vector<double> drawn;  // by draw
};

struct Confidence {
  // By draw: predicted time of the plan less that of the best plan found, the draw's own or this one. Never below 0.
  std::vector<double> regrets;
  // By object and part of the plan: the share of draws that place the part's bytes there when the loop begins.
  std::vector<std::vector<double>> parts;
  std::vector<PlacedShare> objects;  // as in the problem

  [[nodiscard]] Seconds regret() const;                // mean
  [[nodiscard]] Seconds regret_at(double share) const;  // quantile
};

// `plan` is make_plan's of `chosen`, which is `planner`'s. Draws are planned with Effort::quick, on all processors;
// the same call always gives the same answer.
Confidence confidence_of(const model::Problem& problem, const model::Calibration& calibration,
                         const Planner& planner, const Decision& chosen, const Plan& plan, std::uint32_t draws);

// Writes it into the plan: the regret's mean and its 90 % interval, and each part's confidence.
void annotate(Plan& plan, const Confidence& confidence);

}  // namespace terrace::placement
