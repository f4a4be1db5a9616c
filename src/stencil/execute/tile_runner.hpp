// SPDX-License-Identifier: Apache-2.0
// Runs tiles by several threads. The tiles of the outermost dimension that is cut are dealt out in turns; within
// one, a thread does the others in order and stays behind the thread that is before it. So no thread waits for
// all.
#pragma once

#include <cstddef>
#include <span>

#include "stencil/execute/active_loop.hpp"
#include "stencil/execute/team.hpp"
#include "stencil/plan/tile_plan.hpp"

namespace terrace::stencil {

// Is asked by the thread that does a tile of the outermost dimension.
class TileGate {
 public:
  virtual ~TileGate() = default;
  // True once its data are there; false where somebody gave up. Tiles behind it have not begun, and nobody asks
  // for them meanwhile. It may throw.
  [[nodiscard]] virtual bool wait_for_data(std::size_t tile) = 0;
  // It is done, and all tiles before it; in the order of tiles.
  virtual void on_tile_done(std::size_t tile) = 0;
  // A thread has failed: no tile behind it will be done. Whoever waits is to return.
  virtual void cancel() noexcept = 0;
};

// All tiles, of which those of the dimension `outer` are dealt out.
void run_tiles(const TilePlan& plan, std::span<const ActiveLoop> loops, Team& team, std::size_t outer,
               TileGate* gate = nullptr);

// The outermost dimension that is cut: the one whose tiles are dealt out where nothing else cuts them. It is not
// that of the chain (outer_dimension()) where that one has a single tile.
[[nodiscard]] std::size_t outermost(const TilePlan& plan);

}  // namespace terrace::stencil
