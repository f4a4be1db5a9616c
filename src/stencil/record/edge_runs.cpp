// SPDX-License-Identifier: Apache-2.0
// Implements edge_runs.hpp.
#include "stencil/record/edge_runs.hpp"

#include <algorithm>
#include <limits>

namespace terrace::stencil {
namespace {

using Limits = std::numeric_limits<std::ptrdiff_t>;

// A closed interval [low, high].
struct Interval {
  std::ptrdiff_t low = Limits::min();
  std::ptrdiff_t high = Limits::max();
  [[nodiscard]] std::ptrdiff_t nearest_to_zero() const { return std::clamp<std::ptrdiff_t>(0, low, high); }
};

}  // namespace

std::vector<EdgeRun> edge_runs(const TilePlan& plan, const Range& all, const Range& range, std::size_t loop,
                               std::size_t d) {
  const auto is_reversed = plan.reversed()[d];
  const auto first = is_reversed ? -all.end[d] : all.begin[d];
  const auto begin = is_reversed ? -range.end[d] : range.begin[d];
  const auto end = is_reversed ? -range.begin[d] : range.end[d];
  std::vector<EdgeRun> runs;
  Interval fits;  // candidates for the run's `ahead`
  std::size_t tiles = 0;
  const auto end_run = [&] {
    if (tiles > 0) runs.push_back({tiles, fits.nearest_to_zero()});
    fits = {};
    tiles = 0;
  };
  for (std::size_t t = 0; t + 1 < plan.tiles()[d]; ++t) {
    std::array<std::size_t, k_max_dims> tile{0, 0, 0};
    tile[d] = t;
    const auto part = plan.part(loop, tile);
    const auto edge = is_reversed ? -part.begin[d] : part.end[d];
    const auto ahead = edge - first - static_cast<std::ptrdiff_t>(t + 1) * plan.size()[d];
    // At the loop's bounds, any value beyond gives the same end.
    const Interval here{edge == begin ? Limits::min() : ahead, edge == end ? Limits::max() : ahead};
    if (std::max(here.low, fits.low) > std::min(here.high, fits.high)) end_run();
    fits = {std::max(here.low, fits.low), std::min(here.high, fits.high)};
    ++tiles;
  }
  end_run();
  return runs;
}

}  // namespace terrace::stencil
