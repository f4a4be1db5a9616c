// SPDX-License-Identifier: Apache-2.0
// Runs the tiles of a chain as a pipeline: each thread waits until the thread with the previous outer tile is
// ahead. Called by the executors `tiled` and `streamed`. See tile_runner.hpp.
#include "stencil/execute/tile_runner.hpp"

#include <atomic>
#include <vector>

namespace terrace::stencil {
namespace {

// Number of finished inner tiles of an outer one; padded to a cache line.
struct alignas(64) Progress {
  std::atomic<std::size_t> done{0};
};

void do_tile(const TilePlan& plan, std::span<const ActiveLoop> loops,
             const std::array<std::size_t, k_max_dims>& tile) {
  for (std::size_t l = 0; l < loops.size(); ++l) loops[l].run_part(plan.part(l, tile));
}

}  // namespace

std::size_t outermost(const TilePlan& plan) {
  for (auto d = k_max_dims; d-- > 1;)
    if (plan.tiles()[d] > 1) return d;
  return 0;
}

void run_tiles(const TilePlan& plan, std::span<const ActiveLoop> loops, Team& team, std::size_t outer,
               TileGate* gate) {
  auto within = plan.tiles();
  within[outer] = 1;
  const auto count = within[0] * within[1] * within[2];
  const auto last = plan.tiles()[outer];
  std::vector<Progress> progress(last);
  const auto do_tiles = [&](std::size_t number) {
    for (auto t = number; t < last; t += team.size()) {
      for (std::size_t i = 0; i < count; ++i) {
        // The previous outer tile has finished this inner tile, hence all tiles on which it depends.
        if (t > 0) team.wait_for(progress[t - 1].done, i + 1);
        if (team.failed()) return;
        if (gate && i == 0 && !gate->wait_for_data(t)) return;
        std::array<std::size_t, k_max_dims> tile{i % within[0], i / within[0] % within[1],
                                                 i / within[0] / within[1]};
        tile[outer] = t;
        do_tile(plan, loops, tile);
        if (gate && i + 1 == count) gate->on_tile_done(t);
        progress[t].done.store(i + 1, std::memory_order_release);
      }
    }
  };
  team.run([&](std::size_t number) {
    try {
      do_tiles(number);
    } catch (...) {
      if (gate) gate->cancel();
      throw;
    }
  });
}

}  // namespace terrace::stencil
