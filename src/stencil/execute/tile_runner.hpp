// SPDX-License-Identifier: Apache-2.0
// Runs tiles by several threads as a pipeline (wavefront). The tiles of the outermost cut dimension are dealt
// out round robin; within one, a thread runs the inner tiles in order and stays behind the thread before it. So
// there is no global barrier. Used by the executors `tiled` and `streamed`.
#pragma once

#include <cstddef>
#include <span>

#include "stencil/execute/active_loop.hpp"
#include "stencil/execute/team.hpp"
#include "stencil/plan/tile_plan.hpp"

namespace terrace::stencil {

// Lets an executor hold back tiles of the outermost dimension until their data are resident. The thread that
// runs the tile calls it.
class TileGate {
 public:
  virtual ~TileGate() = default;
  // Waits for the tile's data. Returns false if the chain was cancelled. Later tiles have not begun, and their
  // threads do not call meanwhile. May throw.
  [[nodiscard]] virtual bool wait_for_data(std::size_t tile) = 0;
  // Called in tile order when a tile and all earlier ones are done.
  virtual void on_tile_done(std::size_t tile) = 0;
  // Called when a thread failed: later tiles will not be done, and waiting threads must return.
  virtual void cancel() noexcept = 0;
};

// Runs all tiles; those of the dimension `outer` are dealt out to threads.
void run_tiles(const TilePlan& plan, std::span<const ActiveLoop> loops, Team& team, std::size_t outer,
               TileGate* gate = nullptr);

// Returns the outermost dimension that is cut, whose tiles are dealt out by default. It differs from
// outer_dimension() of the chain where that one has a single tile.
[[nodiscard]] std::size_t outermost(const TilePlan& plan);

}  // namespace terrace::stencil
