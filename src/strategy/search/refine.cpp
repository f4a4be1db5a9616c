#include "strategy/search/refine.hpp"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "model/loads.hpp"
#include "model/moves.hpp"
#include "strategy/search/choose.hpp"

namespace terrace::strategy {
namespace {

constexpr double k_least_iteration_gain = 1e-7;  // of an iteration: less is rounding
// What a prediction costs beside its items x phases, what it costs to see that none is needed, and what a phase of
// an interval costs to look at.
constexpr double k_prediction = 300;
constexpr double k_glance = 20;
constexpr double k_look = 1;
constexpr std::uint32_t k_paces_kept = 4;  // kicks to one that holds copies back more or less
constexpr std::uint32_t k_least_kick = 2;  // items that a kick moves
constexpr std::uint32_t k_largest_kick = 5;
constexpr double k_worse = 1.03;        // times the best: from there the search goes on
constexpr int k_back = 20;              // kicks without success after which it goes back to the best
constexpr int k_fruitless_kicks = 400;  // in a row, after which the search ends

// Phases from `begin` on, going round where the iteration does.
struct Interval {
  std::uint32_t begin = 0;
  std::uint32_t length = 0;
};

class Refinement {
 public:
  Refinement(const model::Problem& problem, double work, std::uint32_t seed, Decision& best)
      : problem_(problem),
        best_(best),
        left_(work),
        phases_(static_cast<std::uint32_t>(problem.phases.size())),
        index_(problem),
        random_(seed) {
    for (std::size_t d = 0; d < model::domain_count(problem); ++d)
      places_.push_back(model::fastest_first(problem, static_cast<DomainId>(d)));
    for (std::uint32_t i = 0; i < problem.items.size(); ++i)
      if (problem.items[i].pinned == k_no_place) free_.push_back(i);
    cells_.assign(problem.items.size() * phases_, nullptr);
    for (std::uint32_t i = 0; i < problem.items.size(); ++i)
      for (const auto& use : index_.uses(i)) cells_[i * phases_ + use.phase] = use.cell;
  }

  // The search goes on from where the last kick led, as long as that is not much worse than the best.
  void run() {
    take(best_.schedule, best_.prediction.total.value);
    descend();
    auto base = best_.schedule;
    auto base_seconds = best_.prediction.total.value;
    for (int fruitless = 0; fruitless < k_fruitless_kicks && left_ > 0; ++fruitless) {
      const auto before = best_.prediction.total;
      take(base, base_seconds);
      kick();
      descend();
      if (best_.prediction.total < before) fruitless = 0;
      if (seconds_ <= k_worse * best_.prediction.total.value) {
        base = now_;
        base_seconds = seconds_;
      } else if (fruitless % k_back == k_back - 1) {
        base = best_.schedule;
        base_seconds = best_.prediction.total.value;
      }
    }
  }

 private:
  void take(const model::Schedule& schedule, double seconds) {
    now_ = schedule;
    seconds_ = seconds;
    held_.assign(phases_, std::vector<std::uint64_t>(problem_.places.size(), 0));
    for (std::uint32_t k = 0; k < phases_; ++k)
      for (std::size_t i = 0; i < problem_.items.size(); ++i)
        held_[k][now_.phases[k][i]] += problem_.items[i].size.value;
    loads_.clear();
    for (std::uint32_t k = 0; k < phases_; ++k) loads_.push_back(model::load_of(problem_, k, now_.phases[k]));
  }

  // One item after another in a new order, until none finds anything.
  void descend() {
    auto order = free_;
    for (bool found = true; found && left_ > 0;) {
      found = false;
      std::shuffle(order.begin(), order.end(), random_);
      for (const auto item : order) found = improve(item) || found;
    }
  }

  bool improve(std::uint32_t item) {
    bool found = false;
    for (const auto interval : intervals(item)) {
      for (const auto place : places_[problem_.items[item].domain]) {
        if (left_ <= 0) return found;
        found = try_in(item, interval, place) || found;
      }
    }
    return found;
  }

  // An item is worth having somewhere from one of its uses to another, and from the end of one to the next. All
  // phases are the last interval.
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

  // The item to `place` over the interval; where that is full, with another one leaving it meanwhile.
  bool try_in(std::uint32_t item, Interval interval, PlaceId place) {
    left_ -= k_look * interval.length;
    if (lies_throughout(item, interval, place)) return false;
    const Change change(*this, item, interval, place);
    if (fits(interval)) return keep(change);
    const auto domain = problem_.items[item].domain;
    for (const auto other : free_) {
      if (left_ <= 0) break;
      left_ -= k_look * interval.length;
      if (other == item || problem_.items[other].domain != domain || !lies_somewhere(other, interval, place))
        continue;
      for (const auto to : places_[domain]) {
        if (to == place) continue;
        const Change leaving(*this, other, interval, to, place);
        if (fits(interval) && keep(change, &leaving)) return true;
      }
    }
    return false;
  }

  // What an item's places were over an interval, put back unless the change is kept.
  class Change {
   public:
    // From wherever it is, or only where it resides in `from`.
    Change(Refinement& search, std::uint32_t item, Interval interval, PlaceId to, PlaceId from = k_no_place)
        : search_(search), item_(item), interval_(interval) {
      for (std::uint32_t n = 0; n < interval.length; ++n) {
        before_.push_back(search.at(item, interval, n));
        if (from == k_no_place || before_.back() == from) search.put(item, interval, n, to);
      }
    }
    ~Change() {
      if (kept_) return;
      for (std::uint32_t n = 0; n < interval_.length; ++n) search_.put(item_, interval_, n, before_[n]);
    }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    void keep() const { kept_ = true; }

   private:
    Refinement& search_;
    std::uint32_t item_;
    Interval interval_;
    std::vector<PlaceId> before_;
    mutable bool kept_ = false;
  };

  [[nodiscard]] PlaceId at(std::uint32_t item, Interval interval, std::uint32_t n) const {
    return now_.phases[(interval.begin + n) % phases_][item];
  }
  void put(std::uint32_t item, Interval interval, std::uint32_t n, PlaceId to) {
    const auto k = (interval.begin + n) % phases_;
    const auto size = problem_.items[item].size.value;
    auto& place = now_.phases[k][item];
    held_[k][place] -= size;
    held_[k][to] += size;
    if (const auto* cell = cells_[item * phases_ + k]) {
      loads_[k].take(*cell, place);
      loads_[k].put(*cell, to);
    }
    place = to;
  }
  [[nodiscard]] bool lies_throughout(std::uint32_t item, Interval interval, PlaceId place) const {
    for (std::uint32_t n = 0; n < interval.length; ++n)
      if (at(item, interval, n) != place) return false;
    return true;
  }
  [[nodiscard]] bool lies_somewhere(std::uint32_t item, Interval interval, PlaceId place) const {
    for (std::uint32_t n = 0; n < interval.length; ++n)
      if (at(item, interval, n) == place) return true;
    return false;
  }
  [[nodiscard]] bool fits(Interval interval) const {
    for (std::uint32_t n = 0; n < interval.length; ++n) {
      const auto& held = held_[(interval.begin + n) % phases_];
      for (std::size_t p = 0; p < held.size(); ++p)
        if (held[p] > problem_.places[p].budget.value) return false;
    }
    return true;
  }

  bool keep(const Change& change, const Change* other = nullptr) {
    // Copies only add to what phases take without any.
    left_ -= k_glance;
    if (without_copies() >= seconds_ * (1 - k_least_iteration_gain)) return false;
    left_ -= static_cast<double>(problem_.items.size() * phases_) + k_prediction;
    auto prediction = model::predict(index_, now_);
    if (!(prediction.total.value < seconds_ * (1 - k_least_iteration_gain))) return false;
    seconds_ = prediction.total.value;
    change.keep();
    if (other != nullptr) other->keep();
    if (prediction.total < best_.prediction.total) {
      best_.schedule = now_;
      best_.prediction = std::move(prediction);
    }
    return true;
  }

  [[nodiscard]] double without_copies() const {
    double sum = 0;
    for (std::uint32_t k = 0; k < phases_; ++k) sum += loads_[k].time() + problem_.phases[k].unexplained.value;
    return sum;
  }

  // A few items somewhere else over intervals of theirs, whatever it costs; who stood in the way goes where there
  // is room.
  void kick() {
    if (random_() % k_paces_kept == 0) now_.copies_keep = k_keeps[random_() % k_keeps.size()];
    const auto items = k_least_kick + random_() % (k_largest_kick - k_least_kick + 1);
    for (std::uint32_t n = 0; n < items && !free_.empty(); ++n) {
      const auto item = free_[random_() % free_.size()];
      const auto choices = intervals(item);
      const auto interval = choices[random_() % choices.size()];
      const auto& places = places_[problem_.items[item].domain];
      const auto place = places[random_() % places.size()];
      const Change change(*this, item, interval, place);
      std::vector<std::unique_ptr<Change>> leaving;
      for (auto others = free_; !fits(interval) && !others.empty();) {
        const auto pick = random_() % others.size();
        const auto other = std::exchange(others[pick], others.back());
        others.pop_back();
        if (other == item || problem_.items[other].domain != problem_.items[item].domain) continue;
        leaving.push_back(std::make_unique<Change>(*this, other, interval, places.back(), place));
      }
      if (!fits(interval)) continue;
      change.keep();
      for (const auto& one : leaving) one->keep();
    }
    seconds_ = model::predict(index_, now_).total.value;
  }

  const model::Problem& problem_;
  Decision& best_;
  double left_;  // work that may still be done
  std::uint32_t phases_;
  model::ProblemIndex index_;
  std::vector<std::vector<PlaceId>> places_;  // by domain, fastest first
  std::vector<std::uint32_t> free_;           // items that are not pinned
  std::mt19937 random_;
  model::Schedule now_;
  double seconds_ = 0;                            // of now_
  std::vector<std::vector<std::uint64_t>> held_;  // [phase][place], by now_
  std::vector<model::PhaseLoad> loads_;           // by phase, by now_
  std::vector<const model::ItemCell*> cells_;     // [item x phase], null where it is not touched
};

}  // namespace

void refine(const model::Problem& problem, double work, std::uint32_t seed, Decision& best) {
  // What does not get as far as trying each item once finds nothing.
  const auto sweep = static_cast<double>(problem.items.size()) *
                     (static_cast<double>(problem.items.size() * problem.phases.size()) + k_prediction);
  if (problem.phases.empty() || work < sweep) return;
  Refinement(problem, work, seed, best).run();
}

}  // namespace terrace::strategy
