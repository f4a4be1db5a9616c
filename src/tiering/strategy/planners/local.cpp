// SPDX-License-Identifier: Apache-2.0
// Implements the planner of `--planner local`: Unimem's phase-local search (section 3.1.3). The planner "unimem"
// calls it, too. Decides phase by phase, from the placement that the phases before left. An item's weight is its
// benefit less the cost of fetching it and of evicting others (eq. 5).
#include <algorithm>

#include "model/unimem_model.hpp"
#include "strategy/planners/planners.hpp"
#include "strategy/search/choose.hpp"
#include "strategy/static_decision.hpp"

namespace terrace::strategy {
namespace {

// Max iterations until the placement at the end of the last phase has (mostly) converged.
constexpr int k_max_rounds = 4;
constexpr int k_quick_rounds = 2;

class Search {
 public:
  Search(const model::Problem& problem, const model::Calibration& calibration)
      : problem_(problem),
        unimem_(problem, calibration),
        uses_(model::uses_by_item(problem)),
        now_(home_placement(problem)),
        held_(problem.places.size(), 0) {
    for (std::size_t i = 0; i < now_.size(); ++i) held_[now_[i]] += problem.items[i].size.value;
    for (std::size_t d = 0; d < model::domain_count(problem); ++d)
      homes_.push_back(model::home_of(problem, static_cast<DomainId>(d)));
    begun_.push_back(0);
    for (const auto& phase : problem.phases) begun_.push_back(begun_.back() + phase.measured.value);
  }

  Decision run(Effort effort) {
    const int rounds = effort == Effort::quick ? k_quick_rounds : k_max_rounds;
    Decision decision;
    double value = 0, gap = 0;
    for (int round = 0; round < (problem_.cyclic ? rounds : 1); ++round) {
      const auto before = now_;
      decision.schedule.phases.clear();
      value = gap = 0;
      for (std::size_t k = 0; k < problem_.phases.size(); ++k) {
        const auto choice = decide_phase(k);
        value += choice.value;
        gap += choice.gap;
        decision.schedule.phases.push_back(now_);
      }
      if (round > 0 && now_ == before) break;
    }
    decision.prediction = model::predict(problem_, decision.schedule);
    decision.gap = value > 0 ? gap / value : 0;
    return decision;
  }

 private:
  // Moves items so that the phase has its knapsack's choice, and evicts what it does not touch.
  PlacementChoice decide_phase(std::size_t k) {
    const auto& phase = problem_.phases[k];
    std::vector<std::uint32_t> items;
    std::vector<std::vector<double>> values;
    std::vector<bool> touched(problem_.items.size(), false);
    for (const auto& cell : phase.cells) touched[cell.item] = true;
    auto budgets = budgets_of(problem_);
    for (std::size_t i = 0; i < problem_.items.size(); ++i) {
      const auto& item = problem_.items[i];
      if (item.pinned != k_no_place && !touched[i]) {
        budgets[item.pinned] -= std::min(budgets[item.pinned], item.size);
      }
    }
    const Room room(*this, touched);
    for (const auto& cell : phase.cells) {
      items.push_back(cell.item);
      values.push_back(weights(k, cell, room));
    }
    auto choice = choose_places(problem_, items, values, budgets, model_states());
    if (!choice.feasible) return choice;
    for (std::size_t n = 0; n < items.size(); ++n) put(items[n], choice.places[n]);
    make_room(k, touched);
    return choice;
  }

  // Limits the states, so that exact solutions for all phases take less than a second.
  [[nodiscard]] std::size_t model_states() const { return k_max_states / (4 * problem_.phases.size()); }

  // Computes eviction costs: the sizes of the items that could leave each place other than home, smallest first.
  class Room {
   public:
    Room(const Search& search, const std::vector<bool>& touched) : search_(search) {
      leaving_.resize(search.problem_.places.size());
      for (std::uint32_t i = 0; i < search.now_.size(); ++i) {
        const auto& item = search.problem_.items[i];
        const auto place = search.now_[i];
        if (touched[i] || item.pinned != k_no_place || place == search.homes_[item.domain]) continue;
        leaving_[place].push_back(item.size.value);
      }
      for (auto& sizes : leaving_) std::sort(sizes.begin(), sizes.end());
    }
    // Returns the extra cost of eq. 5: the time of the evictions that free just enough for `size` bytes.
    [[nodiscard]] double extra_cost(PlaceId place, PlaceId home, std::uint64_t size) const {
      const auto budget = search_.problem_.places[place].budget.value;
      const auto free = budget - std::min(budget, search_.held_[place]);
      if (free >= size || place == home) return 0;
      auto needed = size - free;
      const auto& sizes = leaving_[place];
      const auto fit = std::lower_bound(sizes.begin(), sizes.end(), needed);
      std::uint64_t freed = 0;
      if (fit != sizes.end()) {
        freed = *fit;
      } else {
        for (auto it = sizes.rbegin(); it != sizes.rend() && freed < needed; ++it) freed += *it;
      }
      return static_cast<double>(freed) / search_.problem_.copy[place][home];
    }

   private:
    const Search& search_;
    std::vector<std::vector<std::uint64_t>> leaving_;
  };

  // Returns the weight of eq. 5 for each place. Staying weighs slightly more than moving, so that ties move
  // nothing.
  [[nodiscard]] std::vector<double> weights(std::size_t k, const model::ItemCell& cell, const Room& room) const {
    const auto& item = problem_.items[cell.item];
    const auto home = homes_[item.domain];
    const auto from = now_[cell.item];
    std::vector<double> weights(problem_.places.size(), 0);
    for (std::size_t p = 0; p < weights.size(); ++p) {
      const auto to = static_cast<PlaceId>(p);
      if (problem_.places[p].domain != item.domain) continue;
      weights[p] = unimem_.benefit(k, cell, home, to);
      if (to == from) {
        weights[p] += 1e-9 * problem_.phases[k].measured.value;
      } else if (to != home) {
        weights[p] -=
            unimem_.cost(cell.item, from, to, overlap(k, cell.item)) + room.extra_cost(to, home, item.size.value);
      }
    }
    return weights;
  }

  // Returns the time from the end of the last phase that touches the item to the start of this one.
  [[nodiscard]] double overlap(std::size_t k, std::uint32_t item) const {
    const auto& uses = uses_[item];
    const auto here = std::ranges::lower_bound(uses, k, {}, &model::Use::phase);
    if (here != uses.begin()) return begun_[k] - begun_[std::prev(here)->phase + 1];
    const auto before = problem_.cyclic ? begun_.back() - begun_[uses.back().phase + 1] : 0;
    return begun_[k] + before;
  }

  void put(std::uint32_t item, PlaceId to) {
    held_[now_[item]] -= problem_.items[item].size.value;
    now_[item] = to;
    held_[to] += problem_.items[item].size.value;
  }

  // Evicts items that this phase does not touch from overfull places: the best fit first, of equal ones that used
  // last.
  void make_room(std::size_t k, const std::vector<bool>& touched) {
    for (std::size_t p = 0; p < problem_.places.size(); ++p) {
      const auto budget = problem_.places[p].budget.value;
      while (held_[p] > budget) {
        const auto needed = held_[p] - budget;
        std::uint32_t best = model::k_no_item;
        for (std::uint32_t i = 0; i < now_.size(); ++i) {
          if (now_[i] != p || touched[i] || problem_.items[i].pinned != k_no_place) continue;
          if (best == model::k_no_item || leaves_before(i, best, needed, k)) best = i;
        }
        if (best == model::k_no_item) break;
        const auto to = refuge(best, static_cast<PlaceId>(p));
        if (to == p) break;
        put(best, to);
      }
    }
  }
  // Returns whether a is evicted before b: the better fit for `needed` bytes, of equal sizes the item that is used
  // later.
  [[nodiscard]] bool leaves_before(std::uint32_t a, std::uint32_t b, std::uint64_t needed, std::size_t k) const {
    const auto left = problem_.items[a].size.value, right = problem_.items[b].size.value;
    const bool left_enough = left >= needed, right_enough = right >= needed;
    if (left_enough != right_enough) return left_enough;
    if (left != right) return left_enough ? left < right : left > right;
    return next_use(a, k) > next_use(b, k);
  }
  // Returns the number of phases until the item is touched again.
  [[nodiscard]] std::size_t next_use(std::uint32_t item, std::size_t k) const {
    const auto& uses = uses_[item];
    if (uses.empty()) return 2 * problem_.phases.size();
    for (const auto& use : uses) {
      if (use.phase > k) return use.phase - k;
    }
    return uses.front().phase + problem_.phases.size() - k;
  }
  // Returns the place to evict the item to: home, or if that is full the fastest other place with space.
  [[nodiscard]] PlaceId refuge(std::uint32_t item, PlaceId from) const {
    const auto home = model::home_of(problem_, problem_.items[item].domain);
    const auto size = problem_.items[item].size.value;
    const auto fits = [&](PlaceId p) { return held_[p] + size <= problem_.places[p].budget.value; };
    if (home != from && fits(home)) return home;
    for (const auto place : model::fastest_first(problem_, problem_.items[item].domain)) {
      if (place != from && fits(place)) return place;
    }
    return home;
  }

  const model::Problem& problem_;
  model::UnimemModel unimem_;
  model::Uses uses_;
  model::Placement now_;
  std::vector<std::uint64_t> held_;
  std::vector<PlaceId> homes_;  // by domain
  std::vector<double> begun_;   // of each phase, and the end of the last
};

class Local final : public Planner {
 public:
  [[nodiscard]] std::string_view name() const override { return "local"; }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration& calibration,
                                Effort effort) const override {
    return Search(problem, calibration).run(effort);
  }
};

}  // namespace

const Planner& local_planner() {
  static const Local planner;
  return planner;
}

const Variant& local_variant() { return local_planner(); }

}  // namespace terrace::strategy
