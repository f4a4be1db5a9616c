// SPDX-License-Identifier: Apache-2.0
// Evaluates the Lagrangian relaxation at given prices, item by item, for the lower bound and the planners'
// searches. See relaxation.hpp.
#include "model/relaxation.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "core/error.hpp"
#include "model/loads.hpp"

namespace terrace::model {

std::vector<bool> bounded_places(const Problem& problem) {
  std::vector<std::uint64_t> footprint(domain_count(problem), 0);
  for (const auto& item : problem.items) footprint[item.domain] += item.size.value;
  std::vector<bool> bounded;
  for (const auto& place : problem.places) bounded.push_back(place.budget.value < footprint[place.domain]);
  return bounded;
}

Relaxation::Relaxation(const Problem& problem)
    : problem_(problem),
      rows_(problem.places.size() + 2),
      bounded_(bounded_places(problem)),
      touches_(problem.items.size()),
      steps_(problem.phases.size() * domain_count(problem)),
      moved_(problem.phases.size() * problem.places.size() * problem.places.size(), 0) {
  std::size_t most = 0;
  for (std::size_t d = 0; d < domain_count(problem); ++d) {
    places_.push_back(fastest_first(problem, static_cast<DomainId>(d)));
    most = std::max(most, places_.back().size());
  }
  if (most > k_max_places_of_domain) {
    throw Error(Code::unsupported, "a domain of the machine has " + std::to_string(most) +
                                       " places, and bounds are computed for up to " +
                                       std::to_string(k_max_places_of_domain) +
                                       "; name a machine with fewer places in each domain");
  }
  form_bundles();
  const auto load_on = [&](const ItemCell& cell, PlaceId p) -> Load {
    const auto& place = problem.places[p];
    const auto streamed_exposed = cell.streamed_exposure * place.latency;
    const auto streamed_reading = cell.streamed_bytes / place.read_bandwidth;
    return {exposed_time(cell, place) - streamed_exposed,
            cell.read_bytes / place.read_bandwidth - streamed_reading, cell.write_bytes / place.write_bandwidth,
            streamed_exposed, streamed_reading};
  };
  for (std::size_t k = 0; k < problem.phases.size(); ++k) {
    for (const auto& cell : problem.phases[k].cells) {
      const auto phase = static_cast<std::uint32_t>(k);
      const auto& places = places_[problem.items[cell.item].domain];
      if (const auto bundle = bundle_of_[cell.item]; bundle > 0) {
        bundles_[bundle - 1].add_loads(cell.item, phase, {load_on(cell, places[0]), load_on(cell, places[1])});
        continue;
      }
      touches_[cell.item].push_back({phase, static_cast<std::uint32_t>(loads_.size())});
      for (const auto p : places) loads_.push_back(load_on(cell, p));
    }
  }
  from_.resize(problem.phases.size() * most * most);
  stop_.resize(from_.size());
}

// Returns the place among the start, the stop and the end of an item's path where a part of its traffic costs
// least. Reads, writes and exposed latency may occur at different times of the phase, so each part chooses for
// itself; a prefetched line's traffic and latency choose together.
template <class Loads, class Part>
std::size_t Relaxation::min_of(const Loads& priced, Part part, std::size_t a, std::size_t v, std::size_t b) {
  auto cheapest = a;
  if (priced[v].*part < priced[cheapest].*part) cheapest = v;
  if (priced[b].*part < priced[cheapest].*part) cheapest = b;
  return cheapest;
}

// Prices an item's traffic in one phase on each place of its domain.
template <std::size_t n>
std::array<Relaxation::Priced, n> Relaxation::price_loads(const double* row, const PlaceId* places,
                                                          const Load* loads) {
  std::array<Priced, n> priced;
  for (std::size_t p = 0; p < n; ++p) {
    const auto second = row[1 + places[p]];
    priced[p] = {row[0] * loads[p].exposed, second * loads[p].reading, second * loads[p].writing,
                 row[0] * loads[p].streamed_exposed + second * loads[p].streamed_reading};
  }
  return priced;
}

// Computes an item's shortest paths through the phases by dynamic programming: from each possible first place, or
// from the cheapest one (one row). Fills `from_` and `stop_` for backtracking.
template <std::size_t n>
Relaxation::Costs<n> Relaxation::path_costs(std::uint32_t item, const Multipliers& prices, bool from_each_start) {
  const auto& of = problem_.items[item];
  const auto* places = places_[of.domain].data();
  const auto phases = problem_.phases.size();
  const auto size = static_cast<double>(of.size.value);
  const auto starts = from_each_start ? n : std::size_t{1};
  const auto may = [&](std::size_t p) { return of.pinned == k_no_place || of.pinned == places[p]; };

  Costs<n> cost;
  for (std::size_t s = 0; s < starts; ++s) {
    for (std::size_t p = 0; p < n; ++p) cost[s][p] = may(p) && (!from_each_start || p == s) ? 0 : k_never;
  }
  auto touch = touches_[item].begin();
  const auto end_of_touches = touches_[item].end();
  for (std::size_t k = 0; k < phases; ++k) {
    // Cost of the phase for an item that begins it on a and ends it on b, with the best stop in between.
    const auto& step = steps_[k * places_.size() + of.domain];
    std::array<double, n * n> edge;
    std::array<std::uint8_t, n * n> stop;
    // Charged once for a chain of copies; further hops are free.
    const auto hop = step.mover * of.remapping + step.program * of.stall;
    const bool touched = touch != end_of_touches && touch->phase == k;
    if (touched) {
      const auto priced = price_loads<n>(&prices.row[k * rows_], places, &loads_[touch->first]);
      std::array<double, n> alone;
      for (std::size_t p = 0; p < n; ++p)
        alone[p] = priced[p].exposed + priced[p].reading + priced[p].writing + priced[p].streamed;
      const auto on_way = [&](std::size_t a, std::size_t v, std::size_t b) {
        return priced[min_of(priced, &Priced::exposed, a, v, b)].exposed +
               priced[min_of(priced, &Priced::reading, a, v, b)].reading +
               priced[min_of(priced, &Priced::writing, a, v, b)].writing +
               priced[min_of(priced, &Priced::streamed, a, v, b)].streamed;
      };
      const auto anywhere = n == 2 ? on_way(0, 0, n - 1) : 0;
      const auto served = [&](std::size_t a, std::size_t v, std::size_t b) {
        if (a == v && v == b) return alone[a];
        return n == 2 ? anywhere : on_way(a, v, b);
      };
      for (std::size_t a = 0; a < n; ++a) {
        const auto hold = (step.untouched[a * n + a] - step.route[a * n + a]) * size;
        for (std::size_t b = 0; b < n; ++b) {
          double cheapest = k_never;
          std::size_t at = a;
          if (!may(a) || !may(b)) {
            edge[a * n + b] = k_never;
            stop[a * n + b] = static_cast<std::uint8_t>(a);
            continue;
          }
          for (std::size_t v = 0; v < n; ++v) {
            if (!may(v)) continue;
            const auto hops = static_cast<double>((a != v ? 1 : 0) + (v != b ? 1 : 0));
            const auto path =
                size * (step.route[a * n + v] + step.route[v * n + b]) + hops * hop + served(a, v, b);
            if (path < cheapest) {
              cheapest = path;
              at = v;
            }
          }
          edge[a * n + b] = cheapest + hold;
          stop[a * n + b] = static_cast<std::uint8_t>(at);
        }
      }
      ++touch;
    } else {
      for (std::size_t a = 0; a < n; ++a) {
        for (std::size_t b = 0; b < n; ++b) {
          edge[a * n + b] = size * step.untouched[a * n + b] + (a != b ? hop : 0);
          stop[a * n + b] = static_cast<std::uint8_t>(a);
        }
      }
    }
    auto* from = &from_[k * n * n];
    auto* via = &stop_[k * n * n];
    for (std::size_t s = 0; s < starts; ++s) {
      std::array<double, n> next;
      for (std::size_t b = 0; b < n; ++b) {
        double cheapest = k_never;
        std::size_t best = 0;
        for (std::size_t a = 0; a < n; ++a) {
          const auto path = cost[s][a] + edge[a * n + b];
          if (path < cheapest) {
            cheapest = path;
            best = a;
          }
        }
        next[b] = may(b) ? cheapest : k_never;
        from[s * n + b] = static_cast<std::uint8_t>(best);
        via[s * n + b] = stop[best * n + b];
      }
      cost[s] = next;
    }
  }

  return cost;
}

// Returns the cost of the item's shortest path, cyclic if the problem is; adds its loads to `activity`.
template <std::size_t n>
double Relaxation::shortest_path(std::uint32_t item, const Multipliers& prices, Activity& activity) {
  const auto& of = problem_.items[item];
  const auto* places = places_[of.domain].data();
  const auto phases = problem_.phases.size();
  const auto all = problem_.places.size();
  const auto size = static_cast<double>(of.size.value);
  const auto cost = path_costs<n>(item, prices, problem_.cyclic);
  const auto starts = problem_.cyclic ? n : std::size_t{1};
  auto touch = touches_[item].end();
  std::size_t start = 0, end = 0;
  double best = k_never;
  for (std::size_t s = 0; s < starts; ++s) {
    for (std::size_t p = 0; p < n; ++p) {
      if ((problem_.cyclic && p != s) || cost[s][p] >= best) continue;
      best = cost[s][p];
      start = s;
      end = p;
    }
  }
  for (auto k = phases; k-- > 0;) {
    const auto a = from_[(k * n + start) * n + end], v = stop_[(k * n + start) * n + end];
    activity.capacity[k * all + places[a]] += size;
    if (touch != touches_[item].begin() && std::prev(touch)->phase == k) {
      --touch;
      const auto* load = &loads_[touch->first];
      const auto priced = price_loads<n>(&prices.row[k * rows_], places, load);
      const auto read_on = min_of(priced, &Priced::reading, a, v, end);
      const auto written_on = min_of(priced, &Priced::writing, a, v, end);
      const auto streamed_on = min_of(priced, &Priced::streamed, a, v, end);
      activity.row[k * rows_ + core_row()] +=
          load[min_of(priced, &Priced::exposed, a, v, end)].exposed + load[streamed_on].streamed_exposed;
      activity.row[k * rows_ + place_row(places[streamed_on])] += load[streamed_on].streamed_reading;
      activity.row[k * rows_ + place_row(places[read_on])] += load[read_on].reading;
      activity.row[k * rows_ + place_row(places[written_on])] += load[written_on].writing;
    }
    for (const auto& [from, to] : {std::pair<std::size_t, std::size_t>{a, v}, {v, end}}) {
      if (from == to) continue;
      activity.row[k * rows_ + copy_row()] += of.remapping;
      activity.row[k * rows_ + core_row()] += of.stall;
      add_copies(size, of.domain, k, from, to);
    }
    end = a;
  }
  return best;
}

// Returns the cheapest path through `times` consecutive iterations: the (min, +) power of an iteration's costs.
template <std::size_t n>
double Relaxation::repeated_path(std::uint32_t item, const Multipliers& prices, std::uint64_t times) {
  const auto followed_by = [](const Costs<n>& first, const Costs<n>& second) {
    Costs<n> both;
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        both[a][b] = k_never;
        for (std::size_t via = 0; via < n; ++via)
          both[a][b] = std::min(both[a][b], first[a][via] + second[via][b]);
      }
    }
    return both;
  };
  auto power = path_costs<n>(item, prices, true);
  Costs<n> result;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) result[a][b] = a == b ? 0 : k_never;
  for (; times > 0; times /= 2) {
    if (times % 2 != 0) result = followed_by(result, power);
    power = followed_by(power, power);
  }
  double best = k_never;
  for (const auto& from : result) best = std::min(best, *std::min_element(from.begin(), from.end()));
  return best;
}

template <class Function>
double Relaxation::for_domain_of(std::uint32_t item, Function function) {
  switch (places_[problem_.items[item].domain].size()) {
    case 1:
      return function.template operator()<1>();
    case 2:
      return function.template operator()<2>();
    case 3:
      return function.template operator()<3>();
    case 4:
      return function.template operator()<4>();
    case 5:
      return function.template operator()<5>();
    case 6:
      return function.template operator()<6>();
    case 7:
      return function.template operator()<7>();
    default:
      return function.template operator()<k_max_places_of_domain>();
  }
}

template <class Single, class Bundled>
void Relaxation::for_all_items(Single single, Bundled bundled) {
  for (std::uint32_t i = 0; i < problem_.items.size();) {
    if (bundle_of_[i] == 0) {
      single(i++);
      continue;
    }
    const auto& bundle = bundles_[bundle_of_[i] - 1];
    bundled(bundle);
    i += static_cast<std::uint32_t>(bundle.count());
  }
}

double Relaxation::evaluate(const Multipliers& prices, Activity& activity) {
  const auto phases = problem_.phases.size(), all = problem_.places.size();
  activity.row.assign(phases * rows_, 0);
  activity.capacity.assign(phases * all, 0);
  std::fill(moved_.begin(), moved_.end(), 0);
  price_steps(prices);

  double value = 0;
  for_all_items(
      [&](std::uint32_t i) {
        value += for_domain_of(i, [&]<std::size_t n>() { return shortest_path<n>(i, prices, activity); });
      },
      [&](const ItemBundle& bundle) { shortest_paths(bundle, activity, value); });
  for (std::size_t k = 0; k < phases; ++k) {
    const auto& phase = problem_.phases[k];
    value += prices.row[k * rows_ + core_row()] * phase.core.value;
    if (!problem_.exact) value += phase.unexplained.value;
    activity.row[k * rows_ + core_row()] += phase.core.value;
    for (std::size_t p = 0; p < all; ++p) {
      value -= prices.capacity[k * all + p] * static_cast<double>(problem_.places[p].budget.value);
      for (std::size_t q = 0; q < all; ++q) {
        const auto bytes = moved_[(k * all + p) * all + q];
        if (bytes == 0) continue;
        activity.row[k * rows_ + copy_row()] += bytes / problem_.copy[p][q];
        activity.row[k * rows_ + place_row(p)] += bytes / problem_.places[p].read_bandwidth;
        activity.row[k * rows_ + place_row(q)] += bytes / problem_.places[q].write_bandwidth;
      }
    }
  }
  return value;
}

double Relaxation::evaluate_repeated(const Multipliers& prices, std::uint64_t times) {
  if (times == 0) return 0;
  price_steps(prices);
  double constant = 0, items = 0;
  const auto all = problem_.places.size();
  for (std::size_t k = 0; k < problem_.phases.size(); ++k) {
    const auto& phase = problem_.phases[k];
    constant += prices.row[k * rows_ + core_row()] * phase.core.value;
    if (!problem_.exact) constant += phase.unexplained.value;
    for (std::size_t p = 0; p < all; ++p)
      constant -= prices.capacity[k * all + p] * static_cast<double>(problem_.places[p].budget.value);
  }
  for_all_items(
      [&](std::uint32_t i) {
        items += for_domain_of(i, [&]<std::size_t n>() { return repeated_path<n>(i, prices, times); });
      },
      [&](const ItemBundle& bundle) { repeated_paths(bundle, times, items); });
  return items + static_cast<double>(times) * constant;
}

}  // namespace terrace::model
