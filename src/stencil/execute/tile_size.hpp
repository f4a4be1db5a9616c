// SPDX-License-Identifier: Apache-2.0
// Chooses tile sizes: by a cache model at first, then by measurement. Used by the executor `tiled`; out-of-core
// execution and its virtual time use the model.
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

// Cache size of a core in bytes if the system does not state it: that of many processors.
inline constexpr std::size_t k_default_cache = std::size_t{1} << 20U;
// Returns the size of a core's private cache in bytes; the default if unknown.
[[nodiscard]] std::size_t own_cache();

// Returns the bytes of one point in all datasets of a chain.
[[nodiscard]] std::size_t bytes_of_point(std::span<const Loop> chain, std::span<const DatasetInfo> infos);

struct ModelledCache {
  std::size_t bytes = 0;        // per thread
  std::size_t point_bytes = 0;  // per point, in all datasets
  std::size_t threads = 1;
};
// Returns the tile size of the least modelled time per point. The model counts the overheads of rows and parts,
// redundant reads, the data of a tile (its skew included) that exceed the cache, and idle threads.
[[nodiscard]] TileSize model_size(std::span<const Loop> chain, const ModelledCache& cache);

// Returns the points of all loops of a chain; at least 1.
[[nodiscard]] double points_of(std::span<const Loop> chain);

// Returns the kind of a chain: number of loops, and points to within 2 %. So steps that sweep in x first and
// those that sweep in y first are of one kind.
[[nodiscard]] std::uint64_t kind_of(std::span<const Loop> chain);

// Hill-climbing auto-tuner: finds the fastest tile size for each kind of chain. It starts from the model's
// size, or from the best of another kind with the same model size. It then tries twice and half the length in
// each cut dimension, from the fastest so far, until none is faster.
class TileTuner {
 public:
  static constexpr std::size_t k_max_kinds = 1024;  // maximum kinds that it remembers
  // Returns the size to try next. Chains of one `kind` are expected to take about the same time with the same
  // size.
  [[nodiscard]] TileSize next(std::uint64_t kind, const TileSize& model);
  // Reports the time per point of the chain that next() was called for; points differ a little within a kind.
  void record_time(double seconds);

 private:
  static constexpr std::size_t k_directions = 2 * k_max_dims;
  struct Kind {
    TileSize model{};
    TileSize best{};
    TileSize tried{};
    double best_seconds = 0;
    bool is_new = true;                 // rerun the best before trying others: one time may be an outlier
    std::size_t direction = 0;          // direction of the next trial, from the best
    std::size_t failed_directions = 0;  // trials since the best was found
    // Sizes that were compared. The first run is excluded, because its pages were faulted in; its size may be
    // tried again.
    std::vector<TileSize> compared{};
  };
  static void next_direction(Kind& kind);

  LruMap<std::pair<std::uint64_t, TileSize>, Kind> kinds_{k_max_kinds};
  LruMap<TileSize, TileSize> starts_{k_max_kinds};  // by the model's size
  Kind* last_ = nullptr;
};

}  // namespace terrace::stencil
