// SPDX-License-Identifier: Apache-2.0
// Chooses tiles and steps (tiles whose data are fetched together) of a chain for a given memory. Out-of-core
// executors and virtual time share it, so the same chain in the same memory is cut in the same way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stencil/data/storage.hpp"
#include "stencil/execute/tile_size.hpp"
#include "stencil/plan/stream_plan.hpp"
#include "stencil/stream/chain_plan_cache.hpp"

namespace terrace::stencil {

// Limits of the chunk size, in bytes.
struct ChunkSizes {
  std::size_t largest = 0;
  std::size_t smallest = 0;
};
// Chunks of data in main memory, which moves in pages: huge ones and the smallest.
inline constexpr ChunkSizes k_processor_chunks{k_huge_page, 4096};
// Chunks of data in GPU memory. Mapping a chunk takes some tens of microseconds, whatever its size; copying 32
// MiB over PCI Express takes at least 600. The smallest is the granularity of NVIDIA's driver.
inline constexpr ChunkSizes k_gpu_chunks{std::size_t{32} << 20U, std::size_t{2} << 20U};

// Returns a chunk size of at most `largest` bytes, so small that the memory holds 100 chunks, but at least
// `smallest`.
[[nodiscard]] std::size_t chunk_size(std::uint64_t memory, std::size_t largest, std::size_t smallest);

// The memory for which chains are planned.
struct StreamCapacity {
  std::span<const DatasetInfo> infos;
  const StreamLayout& layout;
  std::size_t frames = 0;
  [[nodiscard]] bool fits(const StreamPlan& plan) const { return plan.most_chunks <= frames; }
};

// Plans for a processor: tiles of the least modelled time (tile_size.hpp); steps of as many tiles as fit
// together with the next step, at most two per thread, so that threads cross steps without a barrier. Tiles are
// cut further if one tile per thread and a next one do not fit. If even the smallest step does not fit, returns
// that one. `given` is the user's tile size; {}: chosen by the cache.
struct CacheTiles {
  TileSize given{};
  std::size_t cache = 0;  // bytes per core
  std::size_t threads = 1;
};
[[nodiscard]] ChainPlan plan_cache_steps(std::span<const Loop> chain, const StreamCapacity& capacity,
                                         const CacheTiles& tiles, bool is_reversed);

// Plans for a GPU: steps of one tile of the outermost dimension in which each loop runs all points, because a
// GPU gains nothing from cache-sized tiles and needs many points for each launch. Uses as few steps as leave
// capacity for the previous and the next one; a single step if all data of the chain fit. `given` is the user's
// tile length in points; 0: none.
[[nodiscard]] ChainPlan plan_whole_steps(std::span<const Loop> chain, const StreamCapacity& capacity,
                                         std::ptrdiff_t given, bool is_reversed);

}  // namespace terrace::stencil
