// SPDX-License-Identifier: Apache-2.0
// Models the time per point of a tile size, and tunes the size by measured times. The executor `tiled` asks for a
// size before each chain; out-of-core execution uses the model only. See tile_size.hpp.
#include "stencil/execute/tile_size.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "stencil/plan/chain_use.hpp"

namespace terrace::stencil {
namespace {

constexpr double k_share = 0.75;  // fraction of the cache that a tile's data may fill
// Overhead of a row, in points: hardware prefetch start-up and the vector remainder. A default that measurement
// corrects.
constexpr double k_row_begin = 32;
// Overhead of a loop's part of a tile, in points: a call and the computation of its range. Also a default.
constexpr double k_part_begin = 100;
// Relative cost of an access outside the private cache: this much more for each doubling of the part's data
// beyond the cache, and for a tile's first access to a point. Also defaults.
constexpr double k_doubling = 0.5;
constexpr double k_first = 2;
constexpr std::ptrdiff_t k_shortest = 4;  // minimum points of a tried tile
constexpr double k_better = 0.98;         // a trial must beat this fraction of the best time

// The dimension whose tiles are dealt out to threads. For lines it may have a single tile: then one thread
// runs.
std::size_t dealt_dimension(std::span<const Loop> chain) {
  return std::max<std::size_t>(outer_dimension(chain), 1);
}

// Returns the modelled time per point of a loop, relative to a point whose data are in the private cache.
class SizeModel {
 public:
  SizeModel(std::span<const Loop> chain, const ModelledCache& cache)
      : all_(hull_of(chain)),
        last_(dealt_dimension(chain)),
        room_(k_share * static_cast<double>(cache.bytes) /
              static_cast<double>(std::max<std::size_t>(cache.point_bytes, 1))),
        threads_(static_cast<double>(cache.threads)) {
    // Skews do not depend on the tile size, if it exceeds them.
    TileSize probe{};
    for (std::size_t d = 0; d < k_max_dims; ++d) probe[d] = std::max<std::ptrdiff_t>(all_.length(d) / 4, 1);
    const TilePlan plan(chain, probe);
    for (std::size_t d = 0; d < k_max_dims; ++d)
      skew_[d] = static_cast<double>(std::min(plan.skew(d), all_.length(d)));
    std::set<DatasetId> used;
    double accesses = 0;
    for (const auto& loop : chain)
      for (const auto& argument : loop.arguments) {
        used.insert(argument.dataset);
        accesses += static_cast<double>(loop.range.points());
      }
    const auto points = static_cast<double>(all_.points() * std::max<std::size_t>(used.size(), 1));
    reuse_ = std::max(accesses / std::max(points, 1.0), 1.0);
  }

  [[nodiscard]] double cost(const TileSize& size) const {
    auto footprint = 1.0, once = 1.0;
    for (std::size_t d = 0; d < k_max_dims; ++d) {
      footprint *= touched(size, d);
      once *= static_cast<double>(std::min(size[d], all_.length(d)));
    }
    const auto first = footprint / once / reuse_;
    const auto doublings = std::max(std::log2(once / room_), 0.0);
    return waiting(size) * (1 + k_row_begin / static_cast<double>(size[0])) * (1 + k_part_begin / once) *
           (1 + k_first * first + k_doubling * doublings);
  }

 private:
  [[nodiscard]] double touched(const TileSize& size, std::size_t d) const {
    const auto own = static_cast<double>(size[d]);
    return own < length(d) ? std::min(own + skew_[d], length(d)) : length(d);
  }
  // Returns the slowdown by load imbalance of the pipeline. In each round a thread has one outer tile and runs
  // its inner tiles behind the previous thread. If there are fewer tiles than threads, or one exceeds a
  // thread's share, threads wait in each round, and in any case in the first.
  [[nodiscard]] double waiting(const TileSize& size) const {
    auto side = 1.0;  // the largest tile's share of a round
    for (std::size_t d = 0; d < last_; ++d)
      side *= std::min((static_cast<double>(size[d]) + skew_[d] / 2) / length(d), 1.0);
    const auto share = std::min(static_cast<double>(size[last_]) / length(last_), 1.0);
    const auto rounds = std::ceil(std::ceil(1 / share) / threads_);
    return threads_ * share * (rounds * std::max(threads_ * side, 1.0) + (threads_ - 1) * side);
  }
  [[nodiscard]] double length(std::size_t d) const {
    return static_cast<double>(std::max<std::ptrdiff_t>(all_.length(d), 1));
  }

  Range all_;
  std::size_t last_;
  double room_;  // points
  double threads_;
  double reuse_ = 1;  // accesses per point of a chain
  std::array<double, k_max_dims> skew_{};
};

}  // namespace

std::size_t own_cache() {
  const auto size = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return size > 0 ? static_cast<std::size_t>(size) : k_default_cache;
}

std::size_t bytes_of_point(std::span<const Loop> chain, std::span<const DatasetInfo> infos) {
  std::set<DatasetId> used;
  for (const auto& loop : chain)
    for (const auto& argument : loop.arguments) used.insert(argument.dataset);
  std::size_t bytes = 0;
  for (const auto dataset : used) bytes += infos[dataset].element;
  return bytes;
}

double points_of(std::span<const Loop> chain) {
  double points = 0;
  for (const auto& loop : chain) points += static_cast<double>(loop.range.points());
  return std::max(points, 1.0);
}

std::uint64_t kind_of(std::span<const Loop> chain) {
  const auto about = std::lround(32 * std::log2(points_of(chain)));
  return static_cast<std::uint64_t>(about) << 32U | chain.size();
}

// Returns the candidate size of the least modelled cost per point.
TileSize model_size(std::span<const Loop> chain, const ModelledCache& cache) {
  const auto all = hull_of(chain);
  const SizeModel model(chain, cache);
  const auto last = dealt_dimension(chain);
  // Candidate lengths: from the minimum, each 1.5 times the last, up to the whole range.
  const auto lengths = [&](std::size_t d, std::ptrdiff_t shortest) {
    std::vector<std::ptrdiff_t> found;
    if (d <= last)
      for (auto length = shortest; length < all.length(d); length += length / 2) found.push_back(length);
    found.push_back(all.length(d));
    return found;
  };
  TileSize best{};
  auto least = HUGE_VAL;
  for (const auto x : lengths(0, 64))
    for (const auto y : lengths(1, last == 1 ? 4 : 8))
      for (const auto z : lengths(2, 4)) {
        const TileSize size{x, y, z};
        if (const auto cost = model.cost(size); cost < least) {
          least = cost;
          best = size;
        }
      }
  for (std::size_t d = 0; d < k_max_dims; ++d)
    if (best[d] >= all.length(d)) best[d] = 0;
  return best;
}

namespace {

// Directions: double and halve each cut dimension, the last one first.
std::optional<TileSize> neighbour(const TileSize& size, std::size_t direction) {
  auto other = size;
  auto& length = other[k_max_dims - 1 - direction / 2];
  if (length == 0) return std::nullopt;
  const auto is_down = direction % 2 == 1;
  length = is_down ? std::max(length / 2, k_shortest) : length * 2;
  return other != size ? std::optional(other) : std::nullopt;
}

// Doubled and halved lengths are rounded.
bool is_about(const TileSize& size, const TileSize& other) {
  return std::ranges::equal(size, other, [](auto a, auto b) { return std::abs(a - b) <= std::max(a, b) / 50; });
}

}  // namespace

TileSize TileTuner::next(std::uint64_t kind, const TileSize& model) {
  const std::pair key(kind, model);
  auto* known = kinds_.find(key);
  if (!known) {
    const auto* const start = starts_.find(model);
    known = &kinds_.add(key, {.model = model, .best = start ? *start : model});
  }
  last_ = known;
  auto& one = *known;
  one.tried = one.best;
  if (one.is_new) return one.tried;
  for (; one.failed_directions < k_directions; next_direction(one)) {
    const auto other = neighbour(one.best, one.direction);
    if (!other || std::ranges::any_of(one.compared, [&](const auto& size) { return is_about(size, *other); }))
      continue;
    return one.tried = *other;
  }
  return one.tried;
}

void TileTuner::next_direction(Kind& kind) {
  ++kind.failed_directions;
  kind.direction = (kind.direction + 1) % k_directions;
}

void TileTuner::record_time(double seconds) {
  auto& one = *last_;
  if (one.tried == one.best) {
    one.best_seconds = one.best_seconds == 0 ? seconds : std::min(one.best_seconds, seconds);
    one.is_new = false;
    return;
  }
  one.compared.push_back(one.tried);
  if (seconds >= k_better * one.best_seconds) return next_direction(one);
  one.best = one.tried;
  one.best_seconds = seconds;
  one.is_new = true;
  one.failed_directions = 0;
  if (auto* const start = starts_.find(one.model))
    *start = one.best;
  else
    starts_.add(one.model, one.best);
}

}  // namespace terrace::stencil
