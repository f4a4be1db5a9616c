// Runs tiles by several threads. The tiles of the outermost dimension that is cut are dealt out in turns; within
// one, a thread does the others in order and stays behind the thread that is before it. So no thread waits for
// all.
#pragma once

#include <span>

#include "stencil/execute/in_memory.hpp"
#include "stencil/execute/team.hpp"
#include "stencil/plan/tile_plan.hpp"

namespace terrace::stencil {

// Those of the dimension `outer` from `first` to before `last`, whose tiles before are done.
void run_tiles(const TilePlan& plan, std::span<const Running> loops, Team& team, std::size_t outer,
               std::size_t first, std::size_t last);

// The dimension whose tiles are dealt out.
[[nodiscard]] std::size_t outermost(const TilePlan& plan);

}  // namespace terrace::stencil
