// SPDX-License-Identifier: Apache-2.0
// How a chain is cut for the memory that there is: its tiles, how many of them make a step, and the chunks of each
// step. Executors that stream plan by it, and so does virtual time: the same chain in the same memory is cut in
// the same way.
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

// Of a chunk, in bytes.
struct ChunkSizes {
  std::size_t largest = 0;
  std::size_t smallest = 0;
};
// Of data that a processor's loops go over: pages move, the smallest and the huge ones.
inline constexpr ChunkSizes k_processor_chunks{k_huge_page, 4096};
// Of data in a GPU's memory. Mapping a chunk takes some tens of microseconds, however large it is; copying one of
// 32 MiB over PCI Express takes 600 or more. The smallest is what NVIDIA's driver maps.
inline constexpr ChunkSizes k_gpu_chunks{std::size_t{32} << 20U, std::size_t{2} << 20U};

// Of so many bytes at most, and so small that the memory has 100 of them, but no smaller than `smallest`.
[[nodiscard]] std::size_t chunk_size(std::uint64_t memory, std::size_t largest, std::size_t smallest);

// Where chunks are used.
struct StreamCapacity {
  std::span<const DatasetInfo> infos;
  const StreamLayout& layout;
  std::size_t frames = 0;
  [[nodiscard]] bool fits(const StreamPlan& plan) const { return plan.most_chunks <= frames; }
};

// Tiles that take the least time (tile_size.hpp), and steps of as many as have room beside the next one, two for
// each thread at the most: threads go from one step to the next without waiting for one another. Where one tile
// for each thread and a next one have no room, tiles are cut further. `given`: the tile that the user states; {}:
// by the cache. Where even the smallest step has no room, that one.
struct CacheTiles {
  TileSize given{};
  std::size_t cache = 0;  // bytes
  std::size_t threads = 1;
};
[[nodiscard]] ChainPlan plan_cache_steps(std::span<const Loop> chain, const StreamCapacity& capacity,
                                         const CacheTiles& tiles, bool is_reversed);

// Steps of one tile of the outermost dimension, of which each loop does all points: a GPU gains nothing by tiles
// that fit into its cache, and needs many points for each launch. As few as leave room for the steps before and
// behind it; one, if all that the chain uses has room. `given`: points of a tile; 0: none is stated.
[[nodiscard]] ChainPlan plan_whole_steps(std::span<const Loop> chain, const StreamCapacity& capacity,
                                         std::ptrdiff_t given, bool is_reversed);

}  // namespace terrace::stencil
