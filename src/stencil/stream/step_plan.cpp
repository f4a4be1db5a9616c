// SPDX-License-Identifier: Apache-2.0
// Searches the tile length and the number of tiles in a step for which a chain's chunks fit into memory. Called by
// the executors `streamed` and `gpu` and by their model in virtual time.
#include "stencil/stream/step_plan.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "stencil/plan/chain_use.hpp"

namespace terrace::stencil {
namespace {

constexpr std::size_t k_chunks = 100;  // minimum number of chunks in memory, as far as the smallest size allows
constexpr std::ptrdiff_t k_default_tile = 16;
constexpr std::size_t k_max_steps = 256;
// Steps that are resident at one time: one runs, the next is fetched, the previous is evicted.
constexpr std::size_t k_gpu_steps = 3;

void plan_steps(std::span<const Loop> chain, const StreamCapacity& capacity, std::size_t outer, std::size_t tiles,
                ChainPlan& plan) {
  plan.stream =
      std::make_shared<StreamPlan>(plan_stream(chain, *plan.tiles, outer, tiles, capacity.infos, capacity.layout));
}

std::array<bool, k_max_dims> reversed_in(std::size_t outer, bool is_reversed) {
  std::array<bool, k_max_dims> reversed{};
  reversed[outer] = outer > 0 && is_reversed;
  return reversed;
}

}  // namespace

std::size_t chunk_size(std::uint64_t memory, std::size_t largest, std::size_t smallest) {
  auto chunk = largest;
  while (chunk > smallest && memory / chunk < k_chunks) chunk /= 2;
  return chunk;
}

ChainPlan plan_cache_steps(std::span<const Loop> chain, const StreamCapacity& capacity, const CacheTiles& tiles,
                           bool is_reversed) {
  auto size = tiles.given;
  if (size == TileSize{})
    size = model_size(chain, {tiles.cache, bytes_of_point(chain, capacity.infos), tiles.threads});
  // Always cut the outermost dimension.
  const auto outer = outer_dimension(chain);
  if (size[outer] == 0) size[outer] = k_default_tile;
  for (;; size[outer] = (size[outer] + 1) / 2) {
    ChainPlan plan;
    plan.tiles = std::make_unique<TilePlan>(chain, size, reversed_in(outer, is_reversed));
    auto in_step = std::max(plan.tiles->tiles()[outer] / k_max_steps, 2 * tiles.threads);
    for (;; in_step = (in_step + 1) / 2) {
      plan_steps(chain, capacity, outer, in_step, plan);
      // Each thread is in a tile of its own, while data of the next step are fetched.
      const auto there = (tiles.threads + in_step - 1) / in_step + 1;
      if (most_chunks_of(*plan.stream, there) <= capacity.frames) return plan;
      if (in_step == 1) break;
    }
    if (size[outer] == 1) return plan;
  }
}

ChainPlan plan_whole_steps(std::span<const Loop> chain, const StreamCapacity& capacity, std::ptrdiff_t given,
                           bool is_reversed) {
  const auto outer = outer_dimension(chain);
  std::optional<ChainPlan> fits;  // fits without spare capacity
  std::array<std::ptrdiff_t, k_max_dims> size{0, 0, 0};
  size[outer] = given > 0 ? given : std::max<std::ptrdiff_t>(hull_of(chain).length(outer), 1);
  for (;; size[outer] = (size[outer] + 1) / 2) {
    ChainPlan plan;
    plan.tiles = std::make_unique<TilePlan>(chain, size, reversed_in(outer, is_reversed));
    plan_steps(chain, capacity, outer, 1, plan);
    const auto plan_fits = capacity.fits(*plan.stream);
    if (plan.tiles->count() == 1 ? plan_fits : most_chunks_of(*plan.stream, k_gpu_steps) <= capacity.frames)
      return plan;
    if (!fits && plan_fits) fits = std::move(plan);
    if (size[outer] > 1) continue;
    return fits ? std::move(*fits) : std::move(plan);
  }
}

}  // namespace terrace::stencil
