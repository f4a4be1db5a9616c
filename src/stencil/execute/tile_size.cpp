// See tile_size.hpp.
#include "stencil/execute/tile_size.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace terrace::stencil {
namespace {

constexpr std::size_t k_default_cache = std::size_t{1} << 20U;
constexpr double k_share = 0.75;  // of the cache that a tile's data may fill
// Points of a row that beginning it takes the time of: of the caches' own prefetching, and of what is left of a
// vector. A default, which measuring corrects.
constexpr double k_row_begin = 32;
constexpr double k_better = 0.98;  // of the best time: what is slower is not taken for faster

Range hull_of(std::span<const Loop> chain) {
  Range all{{0, 0, 0}, {0, 0, 0}};
  for (const auto& loop : chain) all = hull(all, loop.range);
  return all;
}

}  // namespace

std::size_t own_cache() {
  const auto size = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return size > 0 ? static_cast<std::size_t>(size) : k_default_cache;
}

std::size_t bytes_of_point(std::span<const Loop> chain, std::span<const DatasetAbout> abouts) {
  std::set<DatasetId> used;
  for (const auto& loop : chain)
    for (const auto& argument : loop.arguments) used.insert(argument.dataset);
  std::size_t bytes = 0;
  for (const auto dataset : used) bytes += abouts[dataset].element;
  return bytes;
}

TileSize model_size(std::span<const Loop> chain, std::size_t point_bytes, std::size_t cache) {
  const auto all = hull_of(chain);
  const auto room =
      k_share * static_cast<double>(cache) / static_cast<double>(std::max<std::size_t>(point_bytes, 1));
  // Skews do not depend on the size, as long as it is larger.
  TileSize probe{};
  for (std::size_t d = 0; d < k_most_dims; ++d) probe[d] = std::max<std::ptrdiff_t>(all.length(d) / 4, 1);
  const TilePlan plan(chain, probe);
  const auto skew = [&](std::size_t d) { return static_cast<double>(std::min(plan.skew(d), all.length(d))); };
  TileSize best{};
  auto least = HUGE_VAL;
  // Sizes in x and y, all but uncut; z, or y where there is no z, fills the cache.
  std::vector<std::ptrdiff_t> widths{all.length(0)}, depths{all.length(2) > 1 ? all.length(1) : 0};
  for (std::ptrdiff_t width = 64; width < all.length(0); width += width / 2) widths.push_back(width);
  if (all.length(2) > 1)
    for (std::ptrdiff_t depth = 8; depth < all.length(1); depth += depth / 2) depths.push_back(depth);
  const std::size_t last = all.length(2) > 1 ? 2 : 1;
  for (const auto x : widths) {
    for (const auto y : depths) {
      TileSize size{x, y, 0};
      auto footprint = static_cast<double>(x) + (x < all.length(0) ? skew(0) : 0);
      auto once = static_cast<double>(x);
      if (last == 2) {
        footprint *= static_cast<double>(y) + (y < all.length(1) ? skew(1) : 0);
        once *= static_cast<double>(y);
      }
      const auto filled = std::floor(room / footprint - skew(last));
      size[last] = static_cast<std::ptrdiff_t>(std::clamp(filled, 4.0, std::max(4.0, double(all.length(last)))));
      const auto end = static_cast<double>(size[last]);
      footprint *= end + (size[last] < all.length(last) ? skew(last) : 0);
      once *= end;
      // What is read more than once, what does not fit, and beginning rows.
      const auto cost =
          footprint / once * std::max(footprint / room, 1.0) * (1 + k_row_begin / static_cast<double>(x));
      if (cost < least) {
        least = cost;
        best = size;
      }
    }
  }
  for (std::size_t d = 0; d < k_most_dims; ++d)
    if (best[d] >= all.length(d)) best[d] = 0;
  return best;
}

TileSize TileTuner::next(std::uint64_t kind, const TileSize& model) {
  auto [found, is_new] = kinds_.try_emplace(kind);
  auto& one = found->second;
  if (is_new) {
    one.tried = one.best = model;
    for (std::size_t d = 0; d < k_most_dims; ++d) {
      if (model[d] == 0) continue;
      for (const auto factor : {2.0, 0.5}) {
        auto other = model;
        other[d] =
            std::max<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(static_cast<double>(model[d]) * factor), 4);
        one.left.push_back(other);
      }
    }
    return model;
  }
  if (one.best_seconds == 0) return one.best;  // the first was not measured
  if (one.left.empty()) return one.tried = one.best;
  one.tried = one.left.back();
  one.left.pop_back();
  return one.tried;
}

void TileTuner::measured(std::uint64_t kind, double seconds) {
  auto& one = kinds_[kind];
  if (one.best_seconds == 0 || seconds < k_better * one.best_seconds) {
    const auto was = one.best;
    one.best = one.tried;
    one.best_seconds = seconds;
    // Further in the same direction.
    if (was != one.best) {
      auto next = one.best;
      for (std::size_t d = 0; d < k_most_dims; ++d)
        if (was[d] > 0) next[d] = std::max<std::ptrdiff_t>(one.best[d] * one.best[d] / was[d], 4);
      if (next != one.best) one.left.push_back(next);
    }
  } else if (one.tried == one.best) {
    one.best_seconds = std::min(one.best_seconds, seconds);
  }
}

}  // namespace terrace::stencil
