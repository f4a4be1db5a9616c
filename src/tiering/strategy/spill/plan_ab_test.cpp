// See plan_ab_test.hpp.
#include "strategy/spill/plan_ab_test.hpp"

#include <algorithm>

namespace terrace::strategy {

void PlanAbTest::note(Seconds taken, Seconds worked, bool known) noexcept {
  if (undone_) return;
  const Point here{taken, worked};
  if (!counted_) counted_ = here;
  const auto time = taken - counted_->taken;
  const auto work = worked - counted_->worked;
  if (rests_) {
    if (time < resting_) return;
    rests_ = false;
    rest_ *= 2;
    turn_ = 0;
    counted_ = here;
    settled_ = false;
    return;
  }
  if (work < k_turn) return;
  if (!settled_) {
    if (!is_in_force() && !known && work < k_patience * k_turn) return;
    settled_ = true;
    counted_ = here;
    return;
  }
  counted_ = here;
  pace_.at(static_cast<std::size_t>(turn_ % 2)) = time / work;
  resting_ = rest_ * time;
  if (turn_ % 2 == 1) judge();
  rests_ = turn_ + 1 == k_turns;
  settled_ = false;
  if (!rests_) ++turn_;
}

void PlanAbTest::judge() noexcept {
  const auto [without, with] = pace_;
  const auto gain = 1 - with / without;
  const bool is_last = turn_ + 1 == k_turns;
  undone_ = is_last ? std::max(gain, first_) < -k_noise : gain < -k_clear;
  if (undone_ || is_last) gain_ = is_last ? (gain + first_) / 2 : gain;
  first_ = gain;
}

}  // namespace terrace::strategy
