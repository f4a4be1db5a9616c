// SPDX-License-Identifier: Apache-2.0
// Compares periods with and without a plan's preferences, and undoes a plan that loses, for PlanGuidedPolicy. See
// plan_ab_test.hpp.
#include "strategy/spill/plan_ab_test.hpp"

#include <algorithm>

namespace terrace::strategy {

void PlanAbTest::record(Seconds taken, Seconds worked, bool known) noexcept {
  if (undone_) return;
  const Point here{taken, worked};
  if (!begun_) begun_ = here;
  const auto time = taken - begun_->taken;
  const auto work = worked - begun_->worked;
  if (is_paused_) {
    if (time < pause_time_) return;
    is_paused_ = false;
    pause_ *= 2;
    period_ = 0;
    begun_ = here;
    is_second_half_ = false;
    return;
  }
  if (work < k_half_period) return;
  if (!is_second_half_) {
    if (!is_in_force() && !known && work < k_max_settling * k_half_period) return;
    is_second_half_ = true;
    begun_ = here;
    return;
  }
  begun_ = here;
  time_per_work_.at(static_cast<std::size_t>(period_ % 2)) = time / work;
  pause_time_ = pause_ * time;
  if (period_ % 2 == 1) judge();
  is_paused_ = period_ + 1 == k_num_periods;
  is_second_half_ = false;
  if (!is_paused_) ++period_;
}

void PlanAbTest::judge() noexcept {
  const auto [without, with] = time_per_work_;
  const auto gain = 1 - with / without;
  const bool is_last = period_ + 1 == k_num_periods;
  undone_ = is_last ? std::max(gain, first_gain_) < -k_noise : gain < -k_clear_loss;
  if (undone_ || is_last) gain_ = is_last ? (gain + first_gain_) / 2 : gain;
  first_gain_ = gain;
}

}  // namespace terrace::strategy
