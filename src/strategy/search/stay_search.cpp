#include "strategy/search/stay_search.hpp"

#include <algorithm>
#include <limits>

#include "strategy/search/choose.hpp"

namespace terrace::strategy {
namespace {

constexpr double k_least_item_gain = 1e-9;  // of what two items' phases take: less is rounding

}  // namespace

StaySearch::StaySearch(const model::ProblemIndex& index, const model::Multipliers& prices)
    : index_(index),
      problem_(index.problem()),
      prices_(prices),
      all_(problem_.places.size()),
      placement_(strategy::at_home(problem_)),
      busy_(problem_.phases.size() * all_, 0),
      held_(all_, 0),
      holding_(all_, 0) {
  for (std::size_t d = 0; d < model::domain_count(problem_); ++d)
    places_.push_back(model::fastest_first(problem_, static_cast<DomainId>(d)));
  for (std::size_t k = 0; k < problem_.phases.size(); ++k) {
    stalled_.push_back(problem_.phases[k].core.value);
    for (std::size_t p = 0; p < all_; ++p) holding_[p] += prices.capacity[k * all_ + p];
  }
  for (std::uint32_t i = 0; i < placement_.size(); ++i) shift(i, placement_[i], 1);
}

void StaySearch::shift(std::uint32_t item, PlaceId place, double sign) {
  const auto size = problem_.items[item].size.value;
  held_[place] += sign > 0 ? size : -size;
  for (const auto& use : index_.uses(item)) {
    stalled_[use.phase] += sign * model::exposed_time(*use.cell, problem_.places[place]);
    busy_[use.phase * all_ + place] += sign * model::busy_time(*use.cell, problem_.places[place]);
  }
}

bool StaySearch::fits(std::uint32_t item, PlaceId place) const {
  return held_[place] + problem_.items[item].size.value <= problem_.places[place].budget.value;
}

double StaySearch::time(std::size_t phase) const {
  return std::max(stalled_[phase], *std::max_element(&busy_[phase * all_], &busy_[phase * all_] + all_));
}

// Of the use's phase, with an item that has been taken out in the place.
double StaySearch::time_with(const model::Use& use, PlaceId place) const {
  auto most = stalled_[use.phase] + model::exposed_time(*use.cell, problem_.places[place]);
  for (std::size_t p = 0; p < all_; ++p) {
    const auto own = p == place ? model::busy_time(*use.cell, problem_.places[p]) : 0;
    most = std::max(most, busy_[use.phase * all_ + p] + own);
  }
  return most;
}

double StaySearch::cost(std::uint32_t item, PlaceId place, double linear, double holding) const {
  double sum = holding * holding_[place] * static_cast<double>(problem_.items[item].size.value);
  for (const auto& use : index_.uses(item)) {
    if (linear < 1) sum += (1 - linear) * (time_with(use, place) - time(use.phase));
    if (linear > 0) {
      const auto* row = &prices_.row[use.phase * (all_ + 2)];
      sum += linear * (row[0] * model::exposed_time(*use.cell, problem_.places[place]) +
                       row[1 + place] * model::busy_time(*use.cell, problem_.places[place]));
    }
  }
  return sum;
}

void StaySearch::improve(std::uint32_t item, double linear, double holding) {
  if (problem_.items[item].pinned != k_no_place) return;
  const auto before = placement_[item];
  shift(item, before, -1);
  auto best = before;
  auto least = std::numeric_limits<double>::infinity();
  for (const auto place : places_[problem_.items[item].domain]) {
    if (!fits(item, place)) continue;
    const auto here = cost(item, place, linear, holding);
    if (here >= least) continue;
    least = here;
    best = place;
  }
  placement_[item] = best;
  shift(item, best, 1);
}

bool StaySearch::exchange(std::uint32_t a, std::uint32_t b) {
  const auto& left = problem_.items[a];
  const auto& right = problem_.items[b];
  const auto of_a = placement_[a], of_b = placement_[b];
  if (of_a == of_b || left.domain != right.domain || left.pinned != k_no_place || right.pinned != k_no_place) {
    return false;
  }
  const auto taken = [&] {
    double sum = 0;
    for (const auto& use : index_.uses(a)) sum += time(use.phase);
    for (const auto& use : index_.uses(b))
      if (!index_.touched(a, use.phase)) sum += time(use.phase);
    return sum;
  };
  const auto put = [&](PlaceId from_a, PlaceId from_b) {
    shift(a, from_a, -1);
    shift(b, from_b, -1);
    shift(a, from_b, 1);
    shift(b, from_a, 1);
  };
  const auto before = taken();
  put(of_a, of_b);
  const bool room =
      held_[of_a] <= problem_.places[of_a].budget.value && held_[of_b] <= problem_.places[of_b].budget.value;
  if (room && taken() < before * (1 - k_least_item_gain)) {
    std::swap(placement_[a], placement_[b]);
    return true;
  }
  put(of_b, of_a);
  return false;
}

double StaySearch::seconds() const {
  double sum = 0;
  for (std::size_t k = 0; k < stalled_.size(); ++k) sum += time(k);
  return sum;
}

}  // namespace terrace::strategy
