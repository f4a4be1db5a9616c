// See plan_trial.hpp.
#include "strategy/learning/plan_trial.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace terrace::strategy {

void PlanTrial::add_before(Seconds time) {
  before_.push_back(time);
  if (before_.size() > k_max_iterations) before_.pop_front();
}

void PlanTrial::adopt(std::vector<PlaceId> places) {
  if (!is_on_trial_) {
    places_ = std::move(places);
    gained_ = {};
  }
  usual_ = {};
  for (const auto time : before_) usual_ += time / static_cast<double>(before_.size());
  is_on_trial_ = !before_.empty();
  has_arrived_ = false;
  count_ = 0;
  total_ = {};
}

Seconds PlanTrial::add_under_plan(Seconds time) {
  if (usual_.value > 0) gained_ += usual_ - time;
  if (!is_on_trial_ || !has_arrived_) return {};
  ++count_;
  total_ += time;
  if (!std::has_single_bit(count_)) return {};
  const auto compared = std::min<std::size_t>(count_, before_.size());
  Seconds before;
  for (auto i = before_.size() - compared; i < before_.size(); ++i) before += before_[i];
  const auto behind = total_ / count_ - before / static_cast<double>(compared);
  if (count_ >= k_max_iterations) settle();
  return std::max(behind, Seconds{});
}

}  // namespace terrace::strategy
