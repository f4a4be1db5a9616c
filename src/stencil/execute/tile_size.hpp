// SPDX-License-Identifier: Apache-2.0
// How large tiles are: by the cache at first, then by what was measured.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stencil/execute/executor.hpp"
#include "stencil/plan/lru_map.hpp"
#include "stencil/plan/tile_plan.hpp"

namespace terrace::stencil {

using TileSize = std::array<std::ptrdiff_t, k_max_dims>;

// Of a core, in bytes, where nobody says what it is: what many processors have.
inline constexpr std::size_t k_default_cache = std::size_t{1} << 20U;
// What a processor's own cache holds, in bytes; the default where the system does not say.
[[nodiscard]] std::size_t own_cache();

// Bytes that one point takes in all datasets of a chain.
[[nodiscard]] std::size_t bytes_of_point(std::span<const Loop> chain, std::span<const DatasetInfo> infos);

struct ModelledCache {
  std::size_t bytes = 0;        // of each thread
  std::size_t point_bytes = 0;  // of a chain's point, in all datasets
  std::size_t threads = 1;
};
// The tile that takes the least time for each point: by beginning rows and parts, by what is read more than once,
// by what of a tile's data, with what its skew adds, is not in the cache, and by threads that have nothing to do.
[[nodiscard]] TileSize model_size(std::span<const Loop> chain, const ModelledCache& cache);

// Of all loops of a chain; 1 at least.
[[nodiscard]] double points_of(std::span<const Loop> chain);

// Chains of as many loops, and of the same points to 2 %, are of one kind: such as those of steps that sweep in x
// first and those that sweep in y first.
[[nodiscard]] std::uint64_t kind_of(std::span<const Loop> chain);

// Chooses a size for each kind of chain: the model's at first, or the best of another kind for which the model is
// the same. Then it tries twice and half the length in each dimension that is cut, starting from the fastest so
// far, until none is faster.
class TileTuner {
 public:
  static constexpr std::size_t k_max_kinds = 1024;  // that it knows at a time
  // `kind`: chains of the same take about the same time with the same size.
  [[nodiscard]] TileSize next(std::uint64_t kind, const TileSize& model);
  // What the chain took that was asked for last, for each of its points: those of a kind differ a little.
  void measured(double seconds);

 private:
  static constexpr std::size_t k_directions = 2 * k_max_dims;
  struct Kind {
    TileSize model{};
    TileSize best{};
    TileSize tried{};
    double best_seconds = 0;
    bool is_new = true;         // the best runs once more before others are tried, as one time may be a bad one
    std::size_t direction = 0;  // of what is tried next, from the best
    std::size_t failed_directions = 0;  // since the best was found
    // Sizes that ran, but for the first one: it ran while its data came to be in memory, and may come back.
    std::vector<TileSize> compared{};
  };
  static void turn(Kind& kind);

  LruMap<std::pair<std::uint64_t, TileSize>, Kind> kinds_{k_max_kinds};
  LruMap<TileSize, TileSize> starts_{k_max_kinds};  // by the model's size
  Kind* last_ = nullptr;
};

}  // namespace terrace::stencil
