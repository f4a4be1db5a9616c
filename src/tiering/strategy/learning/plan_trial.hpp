// SPDX-License-Identifier: Apache-2.0
// Tries a plan in virtual time, for LearningStrategy: compares iterations under the plan with iterations before
// it, and withdraws a plan that makes them slower. Used for loops whose moves must pay off
// (PaybackModel::must_pay). On real memory, where time is noisy, plans are guarded instead
// (proof/validated_strategy.hpp).
//
// Iterations may differ although the clock is exact: the program itself does not do the same in each of them. The
// mean of 1, 2, 4, ... iterations under the plan is compared with the mean of those before it by Student's t-test
// with pooled variance. A plan is behind where it is slower at 95 % confidence. One iteration on each side tells
// nothing of the variation; a plan is then behind where it is slower by more than k_assumed_variation. So a
// program that repeats itself needs one or two iterations, and one that varies as many as its variation demands.
//
// The gain of earlier steps pays for further ones. It may be far below the variation of iterations, so the
// measured and the predicted gain are combined by inverse-variance weighting. The measured gain has the variance
// of the baseline's mean and of the iterations since; the predicted one a standard error of half its value. With
// steady iterations the measured gain dominates, with varying ones the predicted gain.
//
// A plan that is behind is withdrawn where moving everything back pays in as many iterations as the loop has made
// so far; the plan's moves were only made where the gain was expected to pay for both ways (payback_model.hpp).
// What is not proved slower stays.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "core/identifiers.hpp"
#include "core/units.hpp"
#include "strategy/learning/best_first.hpp"

namespace terrace::strategy {

class PlanTrial {
 public:
  // Begins another loop: forgets the iterations of the one before.
  void begin_loop() { *this = {}; }
  // Counts an undisturbed iteration (no plan, no samples, no moves) as a baseline.
  void add_before(Seconds time);
  [[nodiscard]] bool can_compare() const { return !before_.empty(); }
  // Begins the trial of a plan. `places`: of each chunk, before the plan's moves. If another plan is on trial,
  // its places are kept.
  void adopt(std::vector<PlaceId> places);
  // Begins the comparison: all moves of the plan are done.
  void on_moves_done() {
    are_moves_done_ = true;
    predicted_ += std::exchange(pending_gain_, Seconds{});
  }
  // Begins a step of the plan: moves of that cost, and of that predicted gain an iteration once on_moves_done() is
  // called.
  void begin_step(const MovePrice& price) {
    cost_ += price.cost;
    pending_gain_ += price.gain;
  }
  // Ends the trial without a withdrawal.
  void end() { is_on_trial_ = false; }
  [[nodiscard]] bool is_on_trial() const { return is_on_trial_; }
  // Returns the time saved since adoption, less what the steps cost: measured against the mean baseline iteration
  // as far as the variation of iterations lets it be measured, else as predicted.
  [[nodiscard]] Seconds gained() const;
  // Counts an iteration under the plan. Returns by how much the mean iteration is slower than before; 0 if that is
  // not proved, or if no comparison is due.
  [[nodiscard]] Seconds add_under_plan(Seconds time);
  [[nodiscard]] const std::vector<PlaceId>& places_before() const { return places_; }

 private:
  static constexpr std::uint32_t k_max_iterations = 64;  // on each side; the plan is settled then
  static constexpr double k_assumed_variation = 0.05;    // of an iteration, where there are too few to estimate it
  static constexpr double k_prediction_error = 0.5;      // of a predicted gain

  [[nodiscard]] bool is_proved(Seconds behind) const;

  std::deque<Seconds> before_;  // the newest last
  std::vector<Seconds> under_;  // the plan
  std::vector<PlaceId> places_;
  bool is_on_trial_ = false;
  bool are_moves_done_ = false;
  Seconds usual_;  // of an iteration before, on average
  // Since adoption.
  double iterations_ = 0;
  Seconds saved_;         // measured; already net of the moves' cost, which lengthens iterations
  Seconds expected_;      // predicted; without the moves' cost
  Seconds cost_;          // predicted cost of all steps begun
  Seconds predicted_;     // gain per iteration of the steps whose moves are done
  Seconds pending_gain_;  // the same of steps whose moves are under way
};

}  // namespace terrace::strategy
