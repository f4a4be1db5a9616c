// SPDX-License-Identifier: Apache-2.0
// Compares iterations under a plan with those before it by Student's t-test, in virtual time, for
// LearningStrategy. See plan_trial.hpp.
#include "strategy/learning/plan_trial.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <utility>

namespace terrace::strategy {

namespace {

// The 95 % quantile of Student's t-distribution; above 10 degrees of freedom the larger one of the next entry
// below.
double t_quantile(std::size_t degrees_of_freedom) {
  constexpr std::array k_small = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812};
  if (degrees_of_freedom <= k_small.size()) return k_small.at(degrees_of_freedom - 1);
  return degrees_of_freedom < 20 ? 1.812 : degrees_of_freedom < 40 ? 1.725 : 1.684;
}

template <class Times>
Seconds mean_of(const Times& times) {
  Seconds sum;
  for (const auto time : times) sum += time;
  return sum / static_cast<double>(times.size());
}

// Returns the sum of squared deviations from the mean, in square seconds.
template <class Times>
double squared_deviations(const Times& times) {
  const auto mean = mean_of(times);
  double sum = 0;
  for (const auto time : times) sum += (time - mean).value * (time - mean).value;
  return sum;
}

}  // namespace

void PlanTrial::add_before(Seconds time) {
  before_.push_back(time);
  if (before_.size() > k_max_iterations) before_.pop_front();
}

void PlanTrial::adopt(std::vector<PlaceId> places) {
  if (!is_on_trial_) {
    places_ = std::move(places);
    iterations_ = 0;
    saved_ = expected_ = cost_ = predicted_ = pending_gain_ = {};
  }
  usual_ = before_.empty() ? Seconds{} : mean_of(before_);
  is_on_trial_ = !before_.empty();
  are_moves_done_ = false;
  under_.clear();
}

// Inverse-variance weighting of measured and predicted gain. Stays with squares, as a root would need libm.
Seconds PlanTrial::gained() const {
  if (iterations_ <= 0) return Seconds{} - cost_;
  const auto before = static_cast<double>(before_.size());
  const auto assumed = k_assumed_variation * usual_.value;
  const auto variance = before_.size() < 2 ? assumed * assumed : squared_deviations(before_) / (before - 1);
  const auto of_measured = before > 0 ? variance * (iterations_ * iterations_ / before + iterations_) : 0;
  const auto error = k_prediction_error * expected_.value;
  const auto of_predicted = error * error;
  if (of_measured + of_predicted <= 0) return saved_;
  const auto weight = of_predicted / (of_measured + of_predicted);
  return weight * (saved_ + cost_) + (1 - weight) * expected_ - cost_;
}

Seconds PlanTrial::add_under_plan(Seconds time) {
  if (usual_.value > 0) {
    ++iterations_;
    saved_ += usual_ - time;
    expected_ += predicted_;
  }
  if (!is_on_trial_ || !are_moves_done_) return {};
  under_.push_back(time);
  if (!std::has_single_bit(under_.size())) return {};
  const auto behind = mean_of(under_) - mean_of(before_);
  const bool is_behind = behind.value > 0 && is_proved(behind);
  if (under_.size() >= k_max_iterations) end();
  return is_behind ? behind : Seconds{};
}

// Squares are compared: a root would need libm.
bool PlanTrial::is_proved(Seconds behind) const {
  const auto before = static_cast<double>(before_.size()), under = static_cast<double>(under_.size());
  const auto degrees_of_freedom = before_.size() + under_.size() - 2;
  if (degrees_of_freedom == 0) return behind > k_assumed_variation * usual_;
  const auto variance =
      (squared_deviations(before_) + squared_deviations(under_)) / static_cast<double>(degrees_of_freedom);
  const auto t = t_quantile(degrees_of_freedom);
  return behind.value * behind.value > t * t * variance * (1 / before + 1 / under);
}

}  // namespace terrace::strategy
