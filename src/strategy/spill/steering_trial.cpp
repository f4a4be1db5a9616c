// See steering_trial.hpp.
#include "strategy/spill/steering_trial.hpp"

#include <algorithm>

namespace terrace::strategy {

void SteeringTrial::note(Seconds now, Seconds worked) noexcept {
  if (undone_) return;
  const Point here{now, worked};
  if (!counted_) counted_ = here;
  const auto time = now - counted_->now;
  const auto work = worked - counted_->worked;
  if (turn_ == k_turns) {
    if (time < resting_) return;
    rest_ *= 2;
    turn_ = 0;
    counted_ = here;
    settled_ = true;
    return;
  }
  const bool begins = turn_ == 0 && !settled_;
  if (work < (begins ? 0.5 : 1) * k_turn) return;
  counted_ = here;
  if (!settled_) {
    settled_ = true;
    return;
  }
  pace_.at(static_cast<std::size_t>(turn_ % 2)) = time / work;
  ++turn_;
  settled_ = turn_ == k_turns;
  if (turn_ % 2 == 0) judge();
  resting_ = rest_ * time;
}

void SteeringTrial::judge() noexcept {
  const auto [with, without] = pace_;
  const auto gain = 1 - with / without;
  const bool is_last = turn_ == k_turns;
  undone_ = is_last ? std::max(gain, first_) < -k_noise : gain < -k_clear;
  if (undone_ || is_last) gain_ = is_last ? (gain + first_) / 2 : gain;
  first_ = gain;
}

}  // namespace terrace::strategy
