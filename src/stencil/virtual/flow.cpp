// See flow.hpp.
#include "stencil/virtual/flow.hpp"

#include <algorithm>
#include <limits>

namespace terrace::stencil {

void Flow::copy(Lane way, double bytes) {
  of(way).push_back({pair_.call, bytes, way == Lane::in ? pair_.in_bandwidth : pair_.out_bandwidth, false});
}

void Flow::run(double bytes, double pieces) {
  of(Lane::loops).push_back({pieces * pair_.launch, bytes, pair_.loop_bandwidth, true});
}

void Flow::copy_within(double bytes) {
  of(Lane::loops).push_back({0, 2 * bytes, pair_.fast_bandwidth, false});  // read and written
}

std::array<double, Flow::k_lanes> Flow::rates() const {
  std::array<double, k_lanes> rates{0, 0, 0};
  for (std::size_t lane = 0; lane < k_lanes; ++lane)
    if (!lanes_[lane].empty() && lanes_[lane].front().seconds <= 0) rates[lane] = lanes_[lane].front().rate;
  auto &loops = rates[0], &in = rates[1], &out = rates[2];
  const auto of_slow = in / pair_.slow_read + out / pair_.slow_write;
  if (of_slow > 1) {
    in /= of_slow;
    out /= of_slow;
  }
  const auto of_fast = (loops + in + out) / pair_.fast_bandwidth;
  if (of_fast > 1)
    for (auto& rate : rates) rate /= of_fast;
  return rates;
}

std::optional<Flow::Lane> Flow::pass() {
  for (;;) {
    const auto at = rates();
    auto least = std::numeric_limits<double>::infinity();
    std::size_t first = k_lanes;
    for (std::size_t lane = 0; lane < k_lanes; ++lane) {
      if (lanes_[lane].empty()) continue;
      const auto& work = lanes_[lane].front();
      const auto takes = work.seconds > 0 ? work.seconds : work.bytes > 0 ? work.bytes / at[lane] : 0;
      if (takes < least) {
        least = takes;
        first = lane;
      }
    }
    if (first == k_lanes) return {};
    now_ += least;
    if (!lanes_[0].empty() && lanes_[0].front().is_loop) loop_seconds_ += least;
    auto has_ended = false;
    for (std::size_t lane = 0; lane < k_lanes; ++lane) {
      if (lanes_[lane].empty()) continue;
      auto& work = lanes_[lane].front();
      if (work.seconds > 0) {
        work.seconds = lane == first ? 0 : std::max(work.seconds - least, 0.0);
        has_ended = has_ended || (lane == first && work.bytes <= 0);
      } else {
        work.bytes = lane == first ? 0 : std::max(work.bytes - at[lane] * least, 0.0);
        has_ended = has_ended || lane == first;
      }
    }
    if (!has_ended) continue;
    lanes_[first].pop_front();
    return static_cast<Lane>(first);
  }
}

void Flow::wait(Lane lane) {
  while (!is_idle(lane)) static_cast<void>(pass());
}

}  // namespace terrace::stencil
