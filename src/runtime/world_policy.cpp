// A world whose chunks move as a policy wishes, interval by interval, without a plan. See world.hpp.
#include <algorithm>

#include "model/costs.hpp"
#include "runtime/world.hpp"
#include "strategy/planner.hpp"

namespace terrace::runtime {

namespace {

constexpr double k_most_looking = 0.05;  // of the time in which a loop is learned

}  // namespace

// Asked in the main loop only, as planners are, once an interval is over and what it wished for is done.
void World::heed_policy(const PhaseTracker& tracker) {
  const auto needs = parts_.policy->needs();
  if (!policy_watches_) {
    policy_watches_ = true;
    policy_asked_ = now();
    static_cast<void>(parts_.watched->take());
  }
  parts_.clock->charge(static_cast<double>(parts_.watched->take_faults()) * needs.fault_cost);
  if (now() - policy_asked_ < needs.interval) return;
  harvest();
  if (!pending_.empty()) return;
  strategy::Wishes wishes;
  parts_.policy->decide(parts_.watched->take(), tiers(), wishes);
  policy_asked_ = now();
  ask_for_policy(wishes.moves, tracker);
  parts_.watched->protect(wishes.protect);
}

// Who plans with a first plan does not wait for it, either: where it is not the iteration to compare with, data
// moves as soon as what was seen of it says so. Where reference counts have placed it, they know more than the
// beginning of an iteration.
bool World::moves_early() const {
  if (hints_.has_counts() && heeds_counts()) return false;
  return parts_.sampled && parts_.sampled->active() && !again_ && !has_plan_ && !parts_.policy &&
         !parts_.steering.record_only && !parts_.steering.learn_at_home &&
         strategy::find_planner(parts_.steering.planner).meanwhile() != nullptr;
}

// A stretch of the program is over, and its cells are what the profile has of it. Where there are so many of them
// that looking would take more than its share of the time, some stretches stand for others.
void World::move_early(const PhaseTracker& tracker) {
  if (!moves_early()) return;
  const auto* stretch = parts_.sampled->last_phase();
  if (stretch == nullptr || stretch->time.value <= 0) return;
  if (!early_) {
    early_.emplace(*parts_.machine, parts_.initiator);
    looked_ = now() - stretch->time;
  }
  const auto looking = static_cast<double>(stretch->cells.size()) * model::k_rent_cost;
  const auto since = now() - looked_;
  if (looking > k_most_looking * since) return;
  parts_.clock->charge(looking);
  looked_ = now();
  const auto given = tiers();
  early_->passed(*stretch, given, std::max(since / stretch->time, 1.0));
  harvest();
  if (!pending_.empty()) return;
  const auto wishes = early_->wishes(given);
  moved_early_ = moved_early_ || !wishes.empty();
  ask_for_policy(wishes, tracker);
}

strategy::Tiers World::tiers() const {
  const auto fast = parts_.machine->fastest_first(domain_).front();
  return {parts_.chunks,
          domain_,
          fast,
          parts_.machine->home(domain_),
          parts_.ledger->budget(fast),
          parts_.ledger->available(fast)};
}

// A mover lets everything wait behind what has no room; so nothing is asked for that will have none.
void World::ask_for_policy(std::span<const transfer::TransferRequest> wishes, const PhaseTracker& tracker) {
  const auto given = tiers();
  auto free = given.free;
  requests_.clear();
  for (const auto& wish : wishes) {
    const auto size = given.size(wish.chunk);
    if (given.on(wish.chunk, wish.to)) continue;
    if (wish.to == given.fast && free < size) continue;
    if (wish.to == given.fast)
      free -= size;
    else if (given.on(wish.chunk, given.fast))
      free += size;
    requests_.push_back(wish);
  }
  if (requests_.empty()) return;
  parts_.clock->charge(model::k_ask_cost + static_cast<double>(requests_.size()) * model::k_move_cost);
  const auto ticket = parts_.mover->submit(requests_);
  if (pending_.empty()) first_pending_ = ticket;
  for (const auto& wish : requests_)
    pending_.push_back({name_wish(wish, tracker.index()), wish.chunk, wish.to, tracker.iteration(), {}});
}

// Named as a plan's moves are, though no phase asks for it again: the phase is that of the first time.
std::uint32_t World::name_wish(const transfer::TransferRequest& wish, PhaseIndex phase) {
  const auto [known, is_new] = wish_names_.try_emplace({wish.chunk, wish.to}, names_);
  if (is_new) {
    const auto& chunk = (*parts_.chunks)[wish.chunk];
    ++names_;
    named_.moves.push_back({chunk.object, wish.chunk - first_chunks_[chunk.object], 1, phase, phase, wish.to,
                            Bytes{chunk.size}, Seconds{}, Seconds{}});
  }
  return known->second;
}

}  // namespace terrace::runtime
