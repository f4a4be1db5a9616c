// SPDX-License-Identifier: Apache-2.0
// Groups a plan's moves with the evictions that free their space, and orders the groups by gain per cost, for
// migration in steps. See best_first.hpp.
#include "strategy/learning/best_first.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

namespace terrace::strategy {

namespace {

constexpr Seconds k_min_cost{1e-12};  // of a move, so that gain per cost is finite

struct Candidate {
  const ActiveMove* move;
  Seconds cost;
  double rank;  // the larger, the sooner
};

bool is_ranked_below(const Candidate& a, const Candidate& b) { return a.rank < b.rank; }
double gain_for_cost(Seconds gain, Seconds cost) { return gain / std::max(cost, k_min_cost); }

// Builds the groups one after the other, and tracks the free space and the gains that they leave.
class GroupBuilder {
 public:
  GroupBuilder(const Context& context, std::span<const ActiveMove> moves, const PendingMoves& pending,
               const MovePrices& prices)
      : context_(context), prices_(prices), capacity_(context, pending), placement_(*context.chunks, pending) {
    for (const auto& move : moves) {
      const auto cost = prices.cost(move);
      const auto gain = prices.gain(move);
      if (move.planned.to == context.home())
        evictions_.push_back({&move, cost, gain.value / bytes(move)});
      else
        promotions_.push_back({&move, cost, gain_for_cost(gain, cost)});
    }
    std::make_heap(promotions_.begin(), promotions_.end(), is_ranked_below);
    std::stable_sort(evictions_.begin(), evictions_.end(),
                     [](const auto& a, const auto& b) { return a.rank > b.rank; });
  }

  // Groups the promotions while they gain, then adds the evictions that gain by themselves.
  std::vector<MoveGroup> run() {
    while (const auto next = take_best())
      if (!add_promotion_group(*next)) break;
    for (; next_eviction_ < evictions_.size(); ++next_eviction_) {
      MoveGroup group;
      const auto& out = evictions_[next_eviction_];
      if (prices_.gain(*out.move).value > 0) {
        add(out, group);
        groups_.push_back(std::move(group));
      }
    }
    return std::move(groups_);
  }

 private:
  [[nodiscard]] double bytes(const ActiveMove& move) const {
    return static_cast<double>(std::max<std::uint32_t>((*context_.chunks)[move.chunk].size, 1));
  }

  // Returns the promotion with the greatest gain per cost after the moves so far. Gains mostly decrease as other
  // moves are applied, so a candidate that is still ahead of the next one is taken as the best (lazy evaluation).
  std::optional<Candidate> take_best() {
    while (!promotions_.empty()) {
      std::pop_heap(promotions_.begin(), promotions_.end(), is_ranked_below);
      auto best = promotions_.back();
      promotions_.pop_back();
      best.rank = gain_for_cost(prices_.gain(*best.move), best.cost);
      if (promotions_.empty() || best.rank >= promotions_.front().rank) return best;
      promotions_.push_back(best);
      std::push_heap(promotions_.begin(), promotions_.end(), is_ranked_below);
    }
    return {};
  }

  // Adds a group of the promotion and the evictions that free its space. Returns false if it has no gain, because
  // later ones would gain even less.
  bool add_promotion_group(const Candidate& candidate) {
    const auto& move = *candidate.move;
    if (bytes(move) >= too_large_) return true;
    const auto next_eviction = next_eviction_;
    MoveGroup group;
    while (!fits(move) && next_eviction_ < evictions_.size()) add(evictions_[next_eviction_++], group);
    const bool is_made = fits(move);
    if (is_made)
      add(candidate, group);
    else
      too_large_ = bytes(move);
    if (is_made && group.price.gain.value > 0) {
      groups_.push_back(std::move(group));
      return true;
    }
    for (auto made = group.moves.rbegin(); made != group.moves.rend(); ++made) {
      const auto from = placement_.place_of(made->chunk);
      static_cast<void>(capacity_.move(made->chunk, from, true));
      prices_.apply(*made, from);
    }
    next_eviction_ = next_eviction;
    return !is_made;  // a smaller one may fit
  }

  bool fits(const ActiveMove& move) {
    if (!capacity_.move(move.chunk, move.planned.to)) return false;
    static_cast<void>(capacity_.move(move.chunk, placement_.place_of(move.chunk), true));
    return true;
  }

  // Adds the move to the group, and applies it to the tracked space and gains.
  void add(const Candidate& candidate, MoveGroup& group) {
    const auto& move = *candidate.move;
    group.price = {group.price.cost + candidate.cost, group.price.gain + prices_.gain(move)};
    static_cast<void>(capacity_.move(move.chunk, move.planned.to, true));
    prices_.apply(move, move.planned.to);
    group.moves.push_back(move);
  }

  const Context& context_;
  const MovePrices& prices_;
  PendingCapacity capacity_;
  PendingPlacement placement_;
  std::vector<Candidate> promotions_;  // a heap
  std::vector<Candidate> evictions_;   // least loss per byte first
  std::size_t next_eviction_ = 0;
  double too_large_ = std::numeric_limits<double>::infinity();  // bytes for which no space can be freed
  std::vector<MoveGroup> groups_;
};

}  // namespace

std::vector<MoveGroup> best_first(const Context& context, std::span<const ActiveMove> moves,
                                  const PendingMoves& pending, const MovePrices& prices) {
  return GroupBuilder(context, moves, pending, prices).run();
}

}  // namespace terrace::strategy
