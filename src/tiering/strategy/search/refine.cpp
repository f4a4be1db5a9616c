// SPDX-License-Identifier: Apache-2.0
// Improves a schedule by iterated local search, as the last step of the default planner, and for draws of the
// confidence. See refine.hpp.
#include "strategy/search/refine.hpp"

#include <algorithm>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "model/loads.hpp"
#include "model/moves.hpp"

namespace terrace::strategy {
namespace {

constexpr double k_min_gain = 1e-7;        // share of an iteration; less is rounding
constexpr double k_prediction = 300;       // fixed work of a prediction, besides its items x phases
constexpr std::uint32_t k_paces_kept = 4;  // one of so many kicks changes min_copy_share
constexpr std::uint32_t k_min_kick = 2;    // items that a kick moves
constexpr std::uint32_t k_max_kick = 5;
constexpr double k_worse = 1.03;             // max ratio to the best from which the search continues
constexpr int k_back = 20;                   // kicks without success after which it returns to the best
constexpr int k_max_fruitless_kicks = 2000;  // consecutive kicks without success, after which the search ends

// An interval of phases, cyclic if the iteration is.
struct Interval {
  std::uint32_t begin = 0;
  std::uint32_t length = 0;
};

class Refinement {
 public:
  Refinement(const model::Problem& problem, double work, Decision& best)
      : problem_(problem),
        best_(best),
        left_(work),
        cells_(static_cast<double>(problem.items.size() * problem.phases.size())),
        phases_(static_cast<std::uint32_t>(problem.phases.size())),
        index_(problem),
        now_(best.schedule),
        seconds_(best.prediction.total.value) {
    // Items with a single place are excluded: trying them costs no work, so that the search would not end.
    for (std::uint32_t i = 0; i < problem.items.size(); ++i)
      if (problem.items[i].pinned == k_no_place && places(i).size() > 1) free_.push_back(i);
  }

  // Iterated local search. Continues from the last local optimum if that is not much worse than the best.
  void run() {
    if (free_.empty()) return;
    descend();
    auto base = std::pair(now_, seconds_);
    for (int fruitless = 0; fruitless < k_max_fruitless_kicks && left_ > 0; ++fruitless) {
      const auto before = best_.prediction.total;
      std::tie(now_, seconds_) = base;
      kick();
      descend();
      if (best_.prediction.total < before) fruitless = 0;
      if (seconds_ <= k_worse * best_.prediction.total.value)
        base = {now_, seconds_};
      else if (fruitless % k_back == k_back - 1)
        base = {best_.schedule, best_.prediction.total.value};
    }
  }

 private:
  // Descends to a local optimum: tries the items in random order, until none improves.
  void descend() {
    auto order = free_;
    for (bool found = true; found && left_ > 0;) {
      found = false;
      std::shuffle(order.begin(), order.end(), random_);
      for (const auto item : order)
        for (const auto interval : intervals(item))
          for (const auto place : places(item)) found = (left_ > 0 && try_in(item, interval, place)) || found;
    }
  }

  // Returns the candidate intervals of an item: from one of its uses to another, between uses, and all phases.
  [[nodiscard]] std::vector<Interval> intervals(std::uint32_t item) const {
    std::vector<Interval> all;
    const auto& uses = index_.uses(item);
    for (const auto& from : uses) {
      for (const auto& to : uses) {
        if (to.phase >= from.phase) {
          all.push_back({from.phase, to.phase - from.phase + 1});
          if (to.phase > from.phase + 1) all.push_back({from.phase + 1, to.phase - from.phase - 1});
        } else if (problem_.cyclic) {
          all.push_back({from.phase, to.phase + phases_ - from.phase + 1});
        }
      }
    }
    std::erase_if(all, [&](const Interval& interval) { return interval.length >= phases_; });
    all.push_back({0, phases_});
    return all;
  }
  [[nodiscard]] const std::vector<PlaceId>& places(std::uint32_t item) const {
    return model::fastest_first(problem_, problem_.items[item].domain);
  }

  // Puts the item into `to` over the interval; with `from`, only in phases in which it is there. Returns whether
  // the schedule changed.
  bool put(model::Schedule& schedule, std::uint32_t item, Interval interval, PlaceId to,
           PlaceId from = k_no_place) const {
    bool changed = false;
    for (std::uint32_t n = 0; n < interval.length; ++n) {
      auto& place = schedule.phases[(interval.begin + n) % phases_][item];
      if (place == to || (from != k_no_place && place != from)) continue;
      place = to;
      changed = true;
    }
    return changed;
  }
  bool fits(const model::Schedule& schedule) {
    left_ -= cells_;
    return model::within_budget(problem_, schedule);
  }

  // Tries the item in `place` over the interval; if that is full, with another item evicted over the interval.
  bool try_in(std::uint32_t item, Interval interval, PlaceId place) {
    auto changed = now_;
    if (!put(changed, item, interval, place)) return false;
    if (fits(changed)) return keep(changed);
    for (const auto other : free_) {
      if (other == item || problem_.items[other].domain != problem_.items[item].domain) continue;
      for (const auto to : places(item)) {
        auto both = changed;
        if (to == place || !put(both, other, interval, to, place)) continue;
        if (left_ <= 0) return false;
        if (fits(both) && keep(both)) return true;
      }
    }
    return false;
  }

  // Makes the schedule the present one if it is predicted to be faster. Returns whether it is.
  bool keep(const model::Schedule& schedule) {
    left_ -= cells_ + k_prediction;
    auto prediction = model::predict(index_, schedule);
    if (!(prediction.total.value < seconds_ * (1 - k_min_gain))) return false;
    now_ = schedule;
    seconds_ = prediction.total.value;
    if (prediction.total < best_.prediction.total) {
      best_.schedule = now_;
      best_.prediction = std::move(prediction);
    }
    return true;
  }

  // Moves a few random items over random intervals, whatever the cost. Items in the way are evicted.
  void kick() {
    if (random_() % k_paces_kept == 0) now_.min_copy_share = k_keeps[random_() % k_keeps.size()];
    const auto items = k_min_kick + random_() % (k_max_kick - k_min_kick + 1);
    for (std::uint32_t n = 0; n < items; ++n) {
      const auto item = free_[random_() % free_.size()];
      const auto choices = intervals(item);
      const auto interval = choices[random_() % choices.size()];
      const auto place = places(item)[random_() % places(item).size()];
      auto changed = now_;
      put(changed, item, interval, place);
      auto others = free_;
      std::shuffle(others.begin(), others.end(), random_);
      for (const auto other : others) {
        if (fits(changed)) break;
        if (other != item && problem_.items[other].domain == problem_.items[item].domain)
          put(changed, other, interval, places(item).back(), place);
      }
      if (fits(changed)) now_ = std::move(changed);
    }
    seconds_ = model::predict(index_, now_).total.value;
  }

  const model::Problem& problem_;
  Decision& best_;
  double left_;   // remaining work
  double cells_;  // items x phases
  std::uint32_t phases_;
  model::ProblemIndex index_;
  std::vector<std::uint32_t> free_;  // items with more than one place
  std::mt19937 random_{1};
  model::Schedule now_;
  double seconds_;  // of now_
};

}  // namespace

bool can_refine(const model::Problem& problem, double work) {
  const auto items = static_cast<double>(problem.items.size());
  const auto phases = static_cast<double>(problem.phases.size());
  return phases > 0 && work >= items * (items * phases + k_prediction);
}

void refine(const model::Problem& problem, double work, Decision& best) {
  if (can_refine(problem, work)) Refinement(problem, work, best).run();
}

}  // namespace terrace::strategy
