// See moves_while_learning.hpp.
#include "strategy/learning/moves_while_learning.hpp"

#include <algorithm>

#include "model/costs.hpp"
#include "strategy/tiering/ask_within_room.hpp"

namespace terrace::strategy {

namespace {

constexpr double k_max_looking = 0.05;  // of the time in which a loop is learned

}  // namespace

// A stretch of the program is over, and its cells are what the profile has of it. Where there are so many of them
// that looking would take more than its share of the time, some stretches stand for others.
bool MovesWhileLearning::profiled(const StretchProfiled& event, Requests& requests) {
  const auto& stretch = event.stretch;
  if (stretch.time.value <= 0) return false;
  auto& clock = *context_.clock;
  if (!early_) {
    early_.emplace(*context_.machine, context_.initiator, [this](ChunkId chunk, PlaceId from, PlaceId to) {
      return payback_.cost_there_and_back(chunk, from, to);
    });
    looked_ = clock.now() - stretch.time;
  }
  const auto looking = static_cast<double>(stretch.cells.size()) * model::k_rent_cost;
  const auto since = clock.now() - looked_;
  if (looking > k_max_looking * since) return false;
  clock.charge(looking);
  looked_ = clock.now();
  const auto tiers = tiers_of(context_);
  early_->passed(stretch, tiers, std::max(since / stretch.time, 1.0));
  if (!requests.all_done()) return false;
  const auto wanted = early_->choose(tiers, payback_.early_budget());
  ask_within_room(wanted, context_, event.phase, event.iteration, requests);
  return !wanted.empty();
}

}  // namespace terrace::strategy
