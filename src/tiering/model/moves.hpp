// The moves that a schedule needs, in the order in which they are asked for: shared by the prediction, which
// prices them, and the plan, which names them.
#pragma once

#include <cstdint>
#include <vector>

#include "model/problem.hpp"
#include "model/problem_index.hpp"

namespace terrace::model {

struct Move {
  std::uint32_t item = 0;
  PlaceId from = 0;
  PlaceId to = 0;
  std::uint32_t change = 0;  // the phase from which on the schedule wants it there
  std::uint32_t ask = 0;     // at whose start it is asked for
  std::uint32_t need = 0;    // whose start waits for it, when it is awaited
  bool awaited = true;       // moves to slower memory are not
  double seconds = 0;        // of the mover
};

struct MoveList {
  std::vector<Move> moves;
  // False when some phase's moves cannot be ordered so that every budget holds at every instant, not even with a
  // stop at home: then the schedule cannot be executed.
  bool feasible = true;
};

// A move is asked for as early as its target has room for it in every phase from then on: one to slower memory
// after the last phase that touches the item (Unimem section 3.1.3), one to faster memory also while the item is
// in use, which is served from where it resides until the copy is done, but then no earlier than twice the copy's
// own time. Moves asked for together are ordered so that each finds room when those before it are done: to faster
// memory by need, each behind as many evictions as make its room; what the phase uses where it goes to leaves
// right after what that phase needs; other evictions come last.
MoveList moves_of(const ProblemIndex& index, const Schedule& schedule);
MoveList moves_of(const Problem& problem, const Schedule& schedule);

// Where everything is when the first phase begins: where the schedule wants it then, but for moves that it or
// the iteration before asks for early, which are done already.
Placement initial_placement(const Schedule& schedule, const MoveList& list);

// Rank of a place by speed, 0 the fastest: what "to slower memory" means.
std::vector<std::size_t> speed_ranks(const Problem& problem);

// predict() with the moves made beforehand; `lost`, where given, gets what phases lose by each move: waiting for
// it, or using its data where they were before.
Prediction predict(const ProblemIndex& index, const Schedule& schedule, const MoveList& list,
                   std::vector<double>* lost = nullptr);
Prediction predict(const ProblemIndex& index, const Schedule& schedule);

}  // namespace terrace::model
