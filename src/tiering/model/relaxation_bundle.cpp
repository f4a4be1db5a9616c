// SPDX-License-Identifier: Apache-2.0
// Computes the shortest paths of up to four items at a time by SIMD instructions, for the relaxation. See
// relaxation_bundle.hpp.
#include "model/relaxation_bundle.hpp"

namespace terrace::model {

void ItemBundle::add(const Item& item) {
  size_.set(count_, static_cast<double>(item.size.value));
  remapping_.set(count_, item.remapping);
  stall_.set(count_, item.stall);
  ++count_;
}

void ItemBundle::add_loads(std::uint32_t item, std::uint32_t phase, const std::array<Load, 2>& loads) {
  if (touches_.empty() || touches_.back().phase != phase) touches_.push_back({.phase = phase});
  auto& touch = touches_.back();
  const auto lane = item - first_;
  touch.touched.set(lane);
  for (std::size_t p = 0; p < 2; ++p) {
    const auto& of = loads[p];
    const std::array parts{of.exposed, of.reading, of.writing, of.streamed_exposed, of.streamed_reading};
    for (std::size_t i = 0; i < parts.size(); ++i) touch.loads[p][i].set(lane, parts[i]);
  }
}

ItemBundle::Load ItemBundle::load(std::size_t touch, std::size_t lane, std::size_t place) const {
  const auto& parts = touches_[touch].loads[place];
  return {parts[0][lane], parts[1][lane], parts[2][lane], parts[3][lane], parts[4][lane]};
}

ItemBundle::Costs ItemBundle::shortest_paths(const std::vector<Step>& steps, bool from_each_start,
                                             Paths& paths) const {
  paths.from_second.resize(steps.size());
  paths.stop_elsewhere.resize(touches_.size());
  const std::size_t starts = from_each_start ? 2 : 1;
  Costs cost;
  for (std::size_t s = 0; s < 2; ++s) {
    for (std::size_t p = 0; p < 2; ++p) cost[s][p] = Lanes::all(!from_each_start || p == s ? 0 : k_never);
  }
  std::size_t t = 0;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const auto& step = steps[k];
    // Charged once for a chain of copies; further hops are free.
    const auto hop = step.mover * remapping_ + step.core * stall_;
    // Cost of the phase to an item that begins it on one place and ends it on another.
    std::array<std::array<Lanes, 2>, 2> edge;
    for (std::size_t a = 0; a < 2; ++a) {
      edge[a][a] = step.untouched[a][a] * size_;
      edge[a][1 - a] = step.untouched[a][1 - a] * size_ + hop;
    }
    if (t < touches_.size() && touches_[t].phase == k) {
      const auto& touch = touches_[t];
      std::array<std::array<Lanes, 4>, 2> priced;  // exposed, reading, writing, streamed
      for (std::size_t p = 0; p < 2; ++p) {
        const auto& load = touch.loads[p];
        const auto second = step.second[p];
        priced[p] = {step.core * load[0], second * load[1], second * load[2],
                     step.core * load[3] + second * load[4]};
      }
      std::array<Lanes, 2> alone;
      for (std::size_t p = 0; p < 2; ++p) alone[p] = priced[p][0] + priced[p][1] + priced[p][2] + priced[p][3];
      std::array<Lanes, 4> cheaper;
      for (std::size_t i = 0; i < 4; ++i) cheaper[i] = lane_min(priced[0][i], priced[1][i]);
      const auto anywhere = cheaper[0] + cheaper[1] + cheaper[2] + cheaper[3];
      const auto round_trip = (step.route[0] + step.route[1]) * size_ + 2.0 * hop + anywhere;
      const auto leaves_first = round_trip < alone[0], stays_on_second = alone[1] < round_trip;
      const std::array stays{select(leaves_first, round_trip, alone[0]),
                             select(stays_on_second, alone[1], round_trip)};
      for (std::size_t a = 0; a < 2; ++a) {
        const auto hold = step.hold[a] * size_;
        const auto moves = step.route[a] * size_ + hop + anywhere;
        edge[a][a] = select(touch.touched, stays[a] + hold, edge[a][a]);
        edge[a][1 - a] = select(touch.touched, moves + hold, edge[a][1 - a]);
      }
      paths.stop_elsewhere[t] = {leaves_first, {{stays_on_second.half[0] == 0, stays_on_second.half[1] == 0}}};
      ++t;
    }
    for (std::size_t s = 0; s < starts; ++s) {
      std::array<Lanes, 2> next;
      for (std::size_t b = 0; b < 2; ++b) {
        const auto by_first = cost[s][0] + edge[0][b], by_second = cost[s][1] + edge[1][b];
        const auto from_second = by_second < by_first;
        next[b] = select(from_second, by_second, by_first);
        paths.from_second[k][s][b] = from_second;
      }
      cost[s] = next;
    }
  }
  return cost;
}

}  // namespace terrace::model
