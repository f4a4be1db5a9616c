#include "strategy/search/joint_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/moves.hpp"
#include "strategy/search/choose.hpp"

namespace terrace::strategy {
namespace {
constexpr double k_never = std::numeric_limits<double>::infinity();
constexpr double k_least_phase_gain = 1e-9;  // of a phase's time: less is rounding

}  // namespace

JointSearch::JointSearch(const model::Problem& problem)
    : problem_(problem),
      phases_(problem.phases.size()),
      uses_(model::uses_by_item(problem)),
      rank_(model::speed_ranks(problem)),
      copies_(problem.items.size()),
      touched_(phases_, false),
      mover_slack_(phases_, 0),
      place_slack_(problem.places.size(), std::vector<double>(phases_, 0)) {
  for (std::size_t d = 0; d < model::domain_count(problem); ++d) {
    places_.push_back(model::fastest_first(problem, static_cast<DomainId>(d)));
  }
  const auto home = strategy::at_home(problem);
  schedule_.phases.assign(phases_, home);
  for (std::size_t k = 0; k < phases_; ++k) {
    loads_.push_back(model::load_of(problem, k, home));
    extra_.push_back({std::vector<double>(problem.places.size(), 0), 0, 0});
  }
  std::vector<std::uint64_t> held(problem.places.size(), 0);
  for (std::size_t i = 0; i < home.size(); ++i) held[home[i]] += problem.items[i].size.value;
  held_.assign(phases_, held);
}

JointSearch::JointSearch(const model::Problem& problem, const model::Schedule& schedule) : JointSearch(problem) {
  schedule_.copies_keep = schedule.copies_keep;
  Way way(phases_);
  for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
    take_out(i);
    for (std::size_t k = 0; k < phases_; ++k) way[k] = schedule.phases[k][i];
    put_in(i, way);
  }
}

namespace {

// The longest of a phase's rows; or, smoothed, their 8-norm, in which what is nearly as long counts, too.
class Longest {
 public:
  explicit Longest(bool smooth) : smooth_(smooth) {}
  void add(double row) {
    if (!smooth_) {
      most_ = std::max(most_, row);
      return;
    }
    const auto square = row * row, fourth = square * square;
    most_ += fourth * fourth;
  }
  [[nodiscard]] double get() const { return smooth_ ? std::sqrt(std::sqrt(std::sqrt(most_))) : most_; }

 private:
  bool smooth_;
  double most_ = 0;
};

}  // namespace

double JointSearch::time(std::size_t phase) const {
  const auto& load = loads_[phase];
  const auto& extra = extra_[phase];
  Longest longest(smooth_);
  longest.add(load.stalled());
  longest.add(extra.mover);
  for (std::size_t p = 0; p < extra.busy.size(); ++p) longest.add(load.busy(p) + extra.busy[p]);
  return longest.get() + extra.waiting;
}

double JointSearch::time_with(std::size_t phase, const model::ItemCell& cell, PlaceId place) const {
  const auto& load = loads_[phase];
  const auto& extra = extra_[phase];
  Longest longest(smooth_);
  longest.add(load.stalled() + model::exposed_time(cell, problem_.places[place]));
  longest.add(extra.mover);
  for (std::size_t p = 0; p < extra.busy.size(); ++p) {
    const auto own = p == place ? model::busy_time(cell, problem_.places[p]) : 0;
    longest.add(load.busy(p) + extra.busy[p] + own);
  }
  return longest.get() + extra.waiting;
}

double JointSearch::seconds() const {
  double sum = 0;
  for (std::size_t k = 0; k < phases_; ++k) sum += time(k);
  return sum;
}

JointSearch::Way JointSearch::way_of(std::uint32_t item) const {
  Way way(phases_);
  for (std::size_t k = 0; k < phases_; ++k) way[k] = schedule_.phases[k][item];
  return way;
}

bool JointSearch::at_home(std::uint32_t item) const {
  const auto home = model::home_of(problem_, problem_.items[item].domain);
  return std::all_of(schedule_.phases.begin(), schedule_.phases.end(),
                     [&](const model::Placement& placement) { return placement[item] == home; });
}

void JointSearch::take_out(std::uint32_t item) {
  const auto size = problem_.items[item].size.value;
  for (std::size_t k = 0; k < phases_; ++k) held_[k][schedule_.phases[k][item]] -= size;
  for (const auto& use : uses_[item]) loads_[use.phase].take(*use.cell, schedule_.phases[use.phase][item]);
  for (const auto& copy : copies_[item]) {
    auto& extra = extra_[copy.phase];
    extra.busy[copy.from] -= copy.from_busy;
    extra.busy[copy.to] -= copy.to_busy;
    extra.mover -= copy.mover;
    extra.waiting -= copy.waiting;
  }
  copies_[item].clear();
}

void JointSearch::put_in(std::uint32_t item, const Way& way) {
  const auto size = problem_.items[item].size.value;
  for (std::size_t k = 0; k < phases_; ++k) {
    schedule_.phases[k][item] = way[k];
    held_[k][way[k]] += size;
  }
  for (const auto& use : uses_[item]) loads_[use.phase].put(*use.cell, way[use.phase]);
  bool stays = true;
  for (std::size_t k = 1; k < phases_; ++k) stays = stays && way[k] == way[0];
  if (stays) return;
  find_slack(item);
  for (std::size_t k = problem_.cyclic ? 0 : 1; k < phases_; ++k) {
    const auto before = way[k == 0 ? phases_ - 1 : k - 1];
    if (before != way[k]) add_copy(item, k, before, way[k]);
  }
}

bool JointSearch::fits(std::uint32_t item, const Way& way) const {
  const auto size = problem_.items[item].size.value;
  for (std::size_t k = 0; k < phases_; ++k) {
    if (held_[k][way[k]] + size > problem_.places[way[k]].budget.value) return false;
  }
  return true;
}

// A copy that begins in phase k can run beside k and what follows up to the item's next use.
void JointSearch::find_slack(std::uint32_t item) {
  std::fill(touched_.begin(), touched_.end(), false);
  for (const auto& use : uses_[item]) touched_[use.phase] = true;
  // Twice around, so that a run of untouched phases over the iteration's end is whole.
  const std::size_t rounds = problem_.cyclic ? 2 : 1;
  for (std::size_t n = rounds * phases_; n-- > 0;) {
    const auto k = n % phases_, next = (k + 1) % phases_;
    const bool goes_on = !touched_[k] && !touched_[next] && n + 1 < rounds * phases_;
    const auto whole = time(k);
    mover_slack_[k] = std::max(whole - extra_[k].mover, 0.0) + (goes_on ? mover_slack_[next] : 0);
    for (const auto p : places_[problem_.items[item].domain]) {
      place_slack_[p][k] =
          std::max(whole - loads_[k].busy(p) - extra_[k].busy[p], 0.0) + (goes_on ? place_slack_[p][next] : 0);
    }
  }
}

double JointSearch::copy_cost(std::uint32_t item, std::size_t phase, PlaceId from, PlaceId to) const {
  const auto size = static_cast<double>(problem_.items[item].size.value);
  const auto copying = model::move_time(problem_, item, from, to);
  const auto asking = model::move_cost(problem_, item);
  if (touched_[phase] && rank_[to] < rank_[from]) return copying + asking;  // the phase waits
  return asking + std::max({0.0, copying - mover_slack_[phase],
                            size / problem_.places[from].read_bandwidth - place_slack_[from][phase],
                            size / problem_.places[to].write_bandwidth - place_slack_[to][phase]});
}

void JointSearch::add_copy(std::uint32_t item, std::size_t phase, PlaceId from, PlaceId to) {
  const auto size = static_cast<double>(problem_.items[item].size.value);
  const auto copying = model::move_time(problem_, item, from, to);
  const auto add = [&](Copying copy) {
    copy.from = from;
    copy.to = to;
    auto& extra = extra_[copy.phase];
    extra.busy[from] += copy.from_busy;
    extra.busy[to] += copy.to_busy;
    extra.mover += copy.mover;
    extra.waiting += copy.waiting;
    copies_[item].push_back(copy);
  };
  if (touched_[phase] && rank_[to] < rank_[from]) {
    add({static_cast<std::uint32_t>(phase), from, to, 0, 0, 0, copying});
    return;
  }
  // Into the slack of each phase in turn; what is left over stays with the first.
  auto left = copying;
  const auto put = [&](std::size_t k, double part) {
    const auto share = part / copying * size;
    add({static_cast<std::uint32_t>(k), from, to, share / problem_.places[from].read_bandwidth,
         share / problem_.places[to].write_bandwidth, part, 0});
    left -= part;
  };
  for (std::size_t n = 0; n < phases_ && left > 0; ++n) {
    const auto k = (phase + n) % phases_;
    if (n > 0 && (touched_[k] || touched_[phase] || (k == 0 && !problem_.cyclic))) break;
    const auto part = std::min(left, std::max(time(k) - extra_[k].mover, 0.0));
    if (part > 0) put(k, part);
  }
  if (left > 0) put(phase, left);
}

JointSearch::Way JointSearch::best_stay(const std::vector<PlaceId>& places, std::uint32_t item) const {
  const auto size = problem_.items[item].size.value;
  std::size_t best = places.size();
  double least = k_never;
  for (std::size_t p = 0; p < places.size(); ++p) {
    double sum = 0;
    for (std::size_t k = 0; k < phases_ && sum < least; ++k) {
      const bool room = held_[k][places[p]] + size <= problem_.places[places[p]].budget.value;
      sum += room ? cost_[k * places.size() + p] : k_never;
    }
    if (sum < least) {
      least = sum;
      best = p;
    }
  }
  return best == places.size() ? Way{} : Way(phases_, places[best]);
}

// With the item out: its cheapest way by dynamic programming over phases and places, for each place to begin in.
JointSearch::Way JointSearch::best_way(std::uint32_t item, const Pricing& pricing) {
  const auto& of = problem_.items[item];
  const auto& places = places_[of.domain];
  const auto n = places.size(), all = problem_.places.size();
  const auto size = of.size.value;
  cost_.assign(phases_ * n, 0);
  for (std::size_t k = 0; k < phases_; ++k) {
    for (std::size_t p = 0; p < n; ++p) {
      if (pricing.holding > 0) {
        cost_[k * n + p] =
            pricing.holding * pricing.prices->capacity[k * all + places[p]] * static_cast<double>(size);
      }
      if (of.pinned != k_no_place && of.pinned != places[p]) cost_[k * n + p] = k_never;
    }
  }
  for (const auto& use : uses_[item]) {
    const auto k = use.phase;
    const auto without = time(k);
    for (std::size_t p = 0; p < n; ++p) {
      auto& cost = cost_[k * n + p];
      if (pricing.linear < 1) cost += (1 - pricing.linear) * (time_with(k, *use.cell, places[p]) - without);
      if (pricing.linear > 0) {
        const auto* row = &pricing.prices->row[k * (all + 2)];
        cost += pricing.linear * (row[0] * model::exposed_time(*use.cell, problem_.places[places[p]]) +
                                  row[1 + places[p]] * model::busy_time(*use.cell, problem_.places[places[p]]));
      }
    }
  }
  auto stay = best_stay(places, item);
  if (phases_ < 2 || of.pinned != k_no_place) return stay;

  find_slack(item);
  for (std::size_t k = 0; k < phases_; ++k) {
    for (std::size_t p = 0; p < n; ++p) {
      if (held_[k][places[p]] + size > problem_.places[places[p]].budget.value) cost_[k * n + p] = k_never;
    }
  }
  std::vector<double> moving(phases_ * n * n, 0);
  for (std::size_t k = 0; k < phases_; ++k) {
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        if (a != b) moving[(k * n + a) * n + b] = copy_cost(item, k, places[a], places[b]);
      }
    }
  }
  double least = k_never;
  Way best;
  std::vector<double> reached(n), next(n);
  std::vector<std::uint8_t> from(phases_ * n);
  for (std::size_t start = 0; start < n; ++start) {
    if (cost_[start] == k_never) continue;
    if (!problem_.cyclic && start > 0) break;
    for (std::size_t p = 0; p < n; ++p) {
      reached[p] = !problem_.cyclic || p == start ? cost_[p] : k_never;
    }
    for (std::size_t k = 1; k < phases_; ++k) {
      for (std::size_t b = 0; b < n; ++b) {
        next[b] = k_never;
        for (std::size_t a = 0; a < n; ++a) {
          const auto sum = reached[a] + moving[(k * n + a) * n + b] + cost_[k * n + b];
          if (sum >= next[b]) continue;
          next[b] = sum;
          from[k * n + b] = static_cast<std::uint8_t>(a);
        }
      }
      reached.swap(next);
    }
    for (std::size_t end = 0; end < n; ++end) {
      const auto back = problem_.cyclic ? moving[end * n + start] : 0;
      if (reached[end] + back >= least) continue;
      least = reached[end] + back;
      best.assign(phases_, places[end]);
      for (std::size_t k = phases_ - 1, at = end; k > 0; --k) {
        at = from[k * n + at];
        best[k - 1] = places[at];
      }
    }
  }
  return best.empty() ? stay : best;
}

bool JointSearch::improve(std::uint32_t item, const Pricing& pricing) {
  const auto before = way_of(item);
  const bool by_time = pricing.linear == 0 && pricing.holding == 0;
  const auto least = by_time ? seconds() : 0;
  take_out(item);
  auto way = best_way(item, pricing);
  if (way.empty()) way = before;
  put_in(item, way);
  if (way == before) return false;
  if (by_time && seconds() >= least * (1 - k_least_phase_gain)) {
    take_out(item);
    put_in(item, before);
    return false;
  }
  return true;
}

bool JointSearch::exchange(std::uint32_t a, std::uint32_t b) {
  const auto& left = problem_.items[a];
  const auto& right = problem_.items[b];
  if (left.domain != right.domain || left.pinned != k_no_place || right.pinned != k_no_place) {
    return false;
  }
  const auto way_a = way_of(a), way_b = way_of(b);
  if (way_a == way_b) return false;
  const auto before = seconds();
  take_out(a);
  take_out(b);
  if (fits(a, way_b)) {
    put_in(a, way_b);
    if (fits(b, way_a)) {
      put_in(b, way_a);
      if (seconds() < before * (1 - k_least_phase_gain)) return true;
      take_out(b);
    }
    take_out(a);
  }
  put_in(a, way_a);
  put_in(b, way_b);
  return false;
}

bool JointSearch::settle(std::uint32_t item, PlaceId place) {
  const auto before = way_of(item);
  take_out(item);
  const Way way(phases_, place);
  const bool possible = fits(item, way);
  put_in(item, possible ? way : before);
  return possible;
}

}  // namespace terrace::strategy
