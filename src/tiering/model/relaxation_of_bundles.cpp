// SPDX-License-Identifier: Apache-2.0
// Implements the SIMD part of the relaxation: evaluates items of domains with two places, four at a time. See
// relaxation_bundle.hpp.
#include <array>
#include <utility>

#include "model/relaxation.hpp"

namespace terrace::model {

// Groups only adjacent items: costs are summed in the order of items, so that bounds do not depend on bundling.
void Relaxation::form_bundles() {
  const auto& items = problem_.items;
  bundle_of_.assign(items.size(), 0);
  bundle_steps_.resize(places_.size());
  bool open = false;
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    const auto domain = items[i].domain;
    if (places_[domain].size() != 2 || items[i].pinned != k_no_place) {
      open = false;
      continue;
    }
    if (!open || bundles_.back().domain() != domain || bundles_.back().count() == Lanes::k_count)
      bundles_.emplace_back(i, domain);
    open = true;
    bundles_.back().add(items[i]);
    bundle_of_[i] = static_cast<std::uint32_t>(bundles_.size());
    bundle_steps_[domain].resize(problem_.phases.size());
  }
}

// Copies the prices that price_steps() computed for a phase into the layout of the bundles.
void Relaxation::price_bundle_step(std::size_t domain, std::size_t phase, const double* row) {
  const auto& of = steps_[phase * places_.size() + domain];
  auto& step = bundle_steps_[domain][phase];
  step = {.core = of.program, .mover = of.mover, .second = {}, .route = {}, .hold = {}, .untouched = {}};
  for (std::size_t a = 0; a < 2; ++a) {
    step.second[a] = row[place_row(places_[domain][a])];
    step.route[a] = of.route[a * 2 + (1 - a)];
    step.hold[a] = of.untouched[a * 2 + a] - of.route[a * 2 + a];
    for (std::size_t b = 0; b < 2; ++b) step.untouched[a][b] = of.untouched[a * 2 + b];
  }
}

void Relaxation::shortest_paths(const ItemBundle& bundle, Activity& activity, double& value) {
  const auto cost = bundle.shortest_paths(bundle_steps_[bundle.domain()], problem_.cyclic, paths_);
  std::array<BundledPath, Lanes::k_count> paths{};
  for (std::size_t lane = 0; lane < bundle.count(); ++lane) {
    auto& path = paths[lane];
    path.item = &problem_.items[bundle.first() + lane];
    path.size = static_cast<double>(path.item->size.value);
    if (problem_.cyclic) {
      path.start = path.end = cost[1][1][lane] < cost[0][0][lane] ? 1 : 0;
    } else {
      path.end = cost[0][1][lane] < cost[0][0][lane] ? 1 : 0;
    }
    value += cost[path.start][path.end][lane];
  }
  backtrack_paths(bundle, paths, activity);
}

// Backtracks the shortest paths of the items from the last phase to the first, and adds them to `activity`.
void Relaxation::backtrack_paths(const ItemBundle& bundle, std::array<BundledPath, Lanes::k_count>& paths,
                                 Activity& activity) {
  const auto domain = bundle.domain();
  const auto& places = places_[domain];
  const auto& steps = bundle_steps_[domain];
  const auto all = problem_.places.size();
  auto t = bundle.num_touches();
  for (auto k = steps.size(); k-- > 0;) {
    const bool any_touched = t > 0 && bundle.phase_of(t - 1) == k;
    if (any_touched) --t;
    auto* rows = &activity.row[k * rows_];
    auto* capacity = &activity.capacity[k * all];
    for (std::size_t lane = 0; lane < bundle.count(); ++lane) {
      auto& path = paths[lane];
      const std::size_t from = paths_.from_second[k][path.start][path.end][lane] ? 1 : 0;
      auto stop = from;
      capacity[places[from]] += path.size;
      if (any_touched && bundle.touches(t, lane)) {
        if (from != path.end) {
          stop = 0;
        } else if (paths_.stop_elsewhere[t][from][lane]) {
          stop = 1 - from;
        }
        if (from == path.end && stop == from) {
          const auto load = bundle.load(t, lane, from);
          auto& place = rows[place_row(places[from])];
          rows[core_row()] += load.exposed + load.streamed_exposed;
          place = place + load.streamed_reading + load.reading + load.writing;
        } else {
          add_cheaper_loads(bundle, t, lane, from, rows);
        }
      }
      if (from != path.end || stop != from) {
        for (const auto& [a, b] : {std::pair<std::size_t, std::size_t>{from, stop}, {stop, path.end}}) {
          if (a == b) continue;
          rows[copy_row()] += path.item->remapping;
          rows[core_row()] += path.item->stall;
          add_copies(path.size, domain, k, a, b);
        }
      }
      path.end = from;
    }
  }
}

// Adds the traffic of an item that is on both places in a phase: each part where it costs less, or else on `from`.
void Relaxation::add_cheaper_loads(const ItemBundle& bundle, std::size_t touch, std::size_t lane, std::size_t from,
                                   double* rows) const {
  const auto& places = places_[bundle.domain()];
  const auto& step = bundle_steps_[bundle.domain()][bundle.phase_of(touch)];
  const std::array loads{bundle.load(touch, lane, 0), bundle.load(touch, lane, 1)};
  const auto cheaper = [&](double first, double second) {
    const std::array price{first, second};
    return price[1 - from] < price[from] ? 1 - from : from;
  };
  const auto streamed = [&](std::size_t p) {
    return step.core * loads[p].streamed_exposed + step.second[p] * loads[p].streamed_reading;
  };
  const auto exposed_on = cheaper(step.core * loads[0].exposed, step.core * loads[1].exposed);
  const auto read_on = cheaper(step.second[0] * loads[0].reading, step.second[1] * loads[1].reading);
  const auto written_on = cheaper(step.second[0] * loads[0].writing, step.second[1] * loads[1].writing);
  const auto streamed_on = cheaper(streamed(0), streamed(1));
  rows[core_row()] += loads[exposed_on].exposed + loads[streamed_on].streamed_exposed;
  rows[place_row(places[streamed_on])] += loads[streamed_on].streamed_reading;
  rows[place_row(places[read_on])] += loads[read_on].reading;
  rows[place_row(places[written_on])] += loads[written_on].writing;
}

void Relaxation::repeated_paths(const ItemBundle& bundle, std::uint64_t times, double& value) {
  const auto followed_by = [](const ItemBundle::Costs& first, const ItemBundle::Costs& second) {
    ItemBundle::Costs both;
    for (std::size_t a = 0; a < 2; ++a) {
      for (std::size_t b = 0; b < 2; ++b)
        both[a][b] = lane_min(first[a][0] + second[0][b], first[a][1] + second[1][b]);
    }
    return both;
  };
  auto power = bundle.shortest_paths(bundle_steps_[bundle.domain()], true, paths_);
  ItemBundle::Costs result;
  for (std::size_t a = 0; a < 2; ++a)
    for (std::size_t b = 0; b < 2; ++b) result[a][b] = Lanes::all(a == b ? 0 : k_never);
  for (; times > 0; times /= 2) {
    if (times % 2 != 0) result = followed_by(result, power);
    power = followed_by(power, power);
  }
  const auto best = lane_min(lane_min(result[0][0], result[0][1]), lane_min(result[1][0], result[1][1]));
  for (std::size_t lane = 0; lane < bundle.count(); ++lane) value += best[lane];
}

}  // namespace terrace::model
