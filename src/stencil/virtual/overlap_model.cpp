// SPDX-License-Identifier: Apache-2.0
// Advances virtual time piece by piece over three lanes of work that share the bandwidth of two memories. Called
// by the modes `slots` and `streamed`. See overlap_model.hpp.
#include "stencil/virtual/overlap_model.hpp"

#include <algorithm>
#include <limits>

namespace terrace::stencil {

void OverlapModel::copy(Lane way, double bytes, const CopyPrice& price) {
  const auto rate = way == Lane::in ? tiers_.in_bandwidth : tiers_.out_bandwidth;
  of(way).push_back({0, price.begin, bytes, rate, false, price.stall});
}

void OverlapModel::run(double bytes, double pieces) {
  of(Lane::loops)
      .push_back({0, pieces * tiers_.launch, bytes, tiers_.loop_bandwidth * tiers_.beside_copies, true, 0});
}

void OverlapModel::copy_within(double bytes, double copies) {
  // Bytes are read and written.
  of(Lane::loops).push_back({0, copies * tiers_.launch, 2 * bytes, tiers_.fast_bandwidth, false, 0});
}

void OverlapModel::stall_loops() {
  for (const auto way : {Lane::in, Lane::out}) {
    if (of(way).empty()) continue;
    if (auto& loops = of(Lane::loops); !loops.empty()) loops.front().stalled += of(way).front().stall;
    of(way).front().stall = 0;
  }
}

double OverlapModel::share(std::size_t lane) const {
  const auto is_copied_both_ways = !is_idle(Lane::in) && !is_idle(Lane::out);
  return lane != 0 && is_copied_both_ways && tiers_.is_mover_shared() ? 0.5 : 1;
}

std::array<double, OverlapModel::k_lanes> OverlapModel::rates() const {
  std::array<double, k_lanes> rates{0, 0, 0};
  for (std::size_t lane = 0; lane < k_lanes; ++lane)
    if (const auto& works = lanes_[lane]; !works.empty())
      if (const auto& work = works.front(); work.stalled <= 0 && work.seconds <= 0)
        rates[lane] = work.rate * share(lane);
  auto &loops = rates[0], &in = rates[1], &out = rates[2];
  const auto of_slow = in / tiers_.slow_read + out / tiers_.slow_write;
  if (of_slow > 1) {
    in /= of_slow;
    out /= of_slow;
  }
  const auto of_fast = (loops + in + out) / tiers_.fast_bandwidth;
  if (of_fast > 1)
    for (auto& rate : rates) rate /= of_fast;
  return rates;
}

void OverlapModel::count(double seconds) {
  now_ += seconds;
  const auto& loops = of(Lane::loops);
  const auto has_loops = !loops.empty() && loops.front().is_loop;
  if (has_loops) loop_seconds_ += seconds;
  if (is_idle(Lane::in) && is_idle(Lane::out)) return;
  copy_seconds_ += seconds;
  if (has_loops && loops.front().stalled <= 0) hidden_seconds_ += seconds;
}

std::optional<OverlapModel::Lane> OverlapModel::advance() {
  for (;;) {
    stall_loops();
    const auto at = rates();
    const auto takes = [&](std::size_t lane) {
      const auto& work = lanes_[lane].front();
      if (work.stalled > 0) return work.stalled;
      if (work.seconds > 0) return work.seconds / share(lane);
      return work.bytes > 0 ? work.bytes / at[lane] : 0;
    };
    auto least = std::numeric_limits<double>::infinity();
    std::size_t first = k_lanes;
    for (std::size_t lane = 0; lane < k_lanes; ++lane) {
      if (lanes_[lane].empty() || takes(lane) >= least) continue;
      least = takes(lane);
      first = lane;
    }
    if (first == k_lanes) return {};
    count(least);
    for (std::size_t lane = 0; lane < k_lanes; ++lane) {
      if (lanes_[lane].empty()) continue;
      auto& work = lanes_[lane].front();
      const auto spend = [&](double& left, double rate) {
        left = lane == first ? 0 : std::max(left - rate * least, 0.0);
      };
      if (work.stalled > 0)
        spend(work.stalled, 1);
      else if (work.seconds > 0)
        spend(work.seconds, share(lane));
      else
        spend(work.bytes, at[lane]);
    }
    const auto& work = lanes_[first].front();
    if (work.stalled > 0 || work.seconds > 0 || work.bytes > 0) continue;
    lanes_[first].pop_front();
    return static_cast<Lane>(first);
  }
}

void OverlapModel::wait(Lane lane) {
  while (!is_idle(lane)) static_cast<void>(advance());
}

}  // namespace terrace::stencil
