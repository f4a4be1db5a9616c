// SPDX-License-Identifier: Apache-2.0
// Derives the moves of a schedule, in the order of their requests, and the rate limits of their copies. Used by
// the prediction and by plans.
#pragma once

#include <cstdint>
#include <vector>

#include "model/loads.hpp"
#include "model/problem.hpp"

namespace terrace::model {

struct Move {
  std::uint32_t item = 0;
  PlaceId from = 0;
  PlaceId to = 0;
  std::uint32_t change = 0;  // first phase in which the schedule has it there
  std::uint32_t ask = 0;     // phase at whose start it is requested
  std::uint32_t need = 0;    // phase whose start waits for it, if `awaited`
  bool awaited = true;       // false for moves to slower memory
  double seconds = 0;        // mover's time
};

struct MoveList {
  std::vector<Move> moves;
  // Is false if some phase's moves cannot be ordered so that every budget holds at all times, even with
  // intermediate stops on default places: the schedule cannot be executed.
  bool feasible = true;
};

// Returns the moves of a schedule. A move is requested as early as its target has capacity in every phase from
// then on. A demotion is requested after the last phase that accesses the item (Unimem section 3.1.3). A promotion
// may also be requested while the item is in use (it is served from its source until the copy is done), but then
// at most twice the copy's time ahead. Moves requested together are ordered so that each finds capacity when those
// before it are done: promotions by need, each behind the evictions that free its capacity; then evictions of
// items that the phase uses on their target; other evictions last.
MoveList derive_moves(const ProblemIndex& index, const Schedule& schedule);
MoveList derive_moves(const Problem& problem, const Schedule& schedule);

// Returns the placement at the start of the first phase: the schedule's, with moves applied that were requested
// earlier, in that phase or the previous iteration.
Placement initial_placement(const Schedule& schedule, const MoveList& list);

// Returns, by place, its rank by speed within its domain; 0 is the fastest.
std::vector<std::size_t> speed_ranks(const Problem& problem);

// Predicts with precomputed moves. `lost`, if not null, receives the time that phases lose by each move: waits,
// and accesses to data still at the source.
Prediction predict(const ProblemIndex& index, const Schedule& schedule, const MoveList& list,
                   std::vector<double>* lost = nullptr);
Prediction predict(const ProblemIndex& index, const Schedule& schedule);

// Returns, by phase, the rate limit as a share of full copy speed, rounded to hundredths; Schedule::min_copy_share
// is the lower limit of a copy's bandwidth. `loads`: of the phases, without copies. Empty if copies are not
// limited.
std::vector<double> rate_limits(const Problem& problem, const Schedule& schedule,
                                const std::vector<PhaseLoad>& loads, const MoveList& list);

}  // namespace terrace::model
