// SPDX-License-Identifier: Apache-2.0
// Derives TLB reach, reorder window, prefetch streams and memory rates from measured series, for `terrace machine
// measure`. See fits.hpp.
#include "machine/measure/fits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <vector>

namespace terrace::machine {

TlbReach tlb_reach(std::span<const PagesCost> costs, double min_step) {
  constexpr double k_about = 0.9;
  // Returns the added cost of a hop with `times` as many pages, or nothing if it was not measured.
  const auto rise = [&](const PagesCost& from, std::uint32_t times) {
    const auto to = std::ranges::find(costs, times * from.pages, &PagesCost::pages);
    return to == costs.end() ? 0 : to->seconds - from.seconds;
  };
  double max_rise = 0;
  for (const auto& cost : costs) max_rise = std::max(max_rise, rise(cost, 4));
  if (max_rise == 0 || max_rise < min_step) return {};
  const auto last = std::find_if(costs.rbegin(), costs.rend(),
                                 [&](const auto& cost) { return rise(cost, 4) >= k_about * max_rise; });
  const double walk = rise(*last, 2);
  return walk < min_step ? TlbReach{} : TlbReach{last->pages, walk};
}

std::uint32_t min_miss_distance(std::span<const MissDistanceCost> costs) {
  constexpr double k_alone = 0.75;  // of the cost of a miss that overlaps with none
  if (costs.size() < 3) return 0;
  // Smooth, so that a single disturbed distance determines neither the cost alone nor the result.
  std::vector<MissDistanceCost> smooth(costs.begin(), costs.end());
  for (std::size_t i = 1; i + 1 < costs.size(); ++i) {
    std::array around{costs[i - 1].seconds, costs[i].seconds, costs[i + 1].seconds};
    std::ranges::sort(around);
    smooth[i].seconds = around[1];
  }
  std::vector<double> seconds;
  for (const auto& cost : smooth) seconds.push_back(cost.seconds);
  std::ranges::sort(seconds);
  const double threshold = k_alone * seconds[seconds.size() * 3 / 4];
  if (threshold <= 0) return 0;
  const auto alone = std::ranges::find_if(smooth, [&](const auto& cost) { return cost.seconds >= threshold; });
  if (alone == smooth.begin()) return static_cast<std::uint32_t>(alone->distance);
  const auto before = std::prev(alone);
  const double part = (threshold - before->seconds) / (alone->seconds - before->seconds);
  return static_cast<std::uint32_t>(std::lround(before->distance + part * (alone->distance - before->distance)));
}

std::uint32_t streams_followed(std::span<const StreamsCost> costs) {
  constexpr double k_min_rise = 2;
  if (costs.empty()) return 0;
  const auto [low, high] = std::ranges::minmax(costs, {}, &StreamsCost::seconds);
  if (low.seconds <= 0 || high.seconds < k_min_rise * low.seconds) return 0;
  const double middle = std::sqrt(low.seconds * high.seconds);
  const auto followed =
      std::find_if(costs.rbegin(), costs.rend(), [&](const auto& cost) { return cost.seconds <= middle; });
  if (followed == costs.rbegin()) return followed->streams;
  const auto beyond = std::prev(followed);
  const double part = std::log(middle / followed->seconds) / std::log(beyond->seconds / followed->seconds);
  return static_cast<std::uint32_t>(
      std::lround(followed->streams * std::pow(static_cast<double>(beyond->streams) / followed->streams, part)));
}

Rates reads_and_writes(const std::map<std::string, double>& kernels) {
  constexpr double k_write_weight = 0.25;  // few programs use non-temporal stores, as "write" does
  struct Row {
    double read, written, time;  // bytes per byte of an array, and their time
    double weight = 1;
  };
  const std::array rows{Row{2, 1, 2 / kernels.at("copy")}, Row{2, 1, 2 / kernels.at("scale")},
                        Row{3, 1, 3 / kernels.at("add")},  Row{3, 1, 3 / kernels.at("triad")},
                        Row{1, 0, 1 / kernels.at("read")}, Row{0, 1, 1 / kernels.at("write"), k_write_weight}};
  double rr = 0, rw = 0, ww = 0, r = 0, w = 0;  // coefficients of the normal equations
  for (const auto& row : rows) {
    const double read = row.read / row.time;
    const double written = row.written / row.time;
    rr += row.weight * read * read;
    rw += row.weight * read * written;
    ww += row.weight * written * written;
    r += row.weight * read;
    w += row.weight * written;
  }
  const double determinant = rr * ww - rw * rw;
  return {determinant / (r * ww - w * rw), determinant / (rr * w - rw * r)};
}

}  // namespace terrace::machine
