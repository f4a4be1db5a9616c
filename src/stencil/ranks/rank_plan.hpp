// SPDX-License-Identifier: Apache-2.0
// What each rank does of a chain, and what ranks exchange before: as a value.
//
// A rank does its own points of all loops, and of other ranks' points those whose results it needs for its own. So
// ranks exchange once, before the chain, as deep as the whole chain reads; within the chain they need nothing of
// one another. The chain is followed from its end to its beginning: of each dataset the range is known that later
// loops read. A loop that writes it does that range, too, and what it reads there is read in turn.
// All ranks make the plans of all, from the whole chain and the division alone, so nobody has to ask for anything.
// The method is that of I. Reguly, G. Mudalige, M. Giles, "Loop tiling in large-scale stencil codes at run-time
// with OPS", IEEE TPDS 29(4), 2018, for distributed memory; ranges for each rank take the place of depths that are
// the same for all, so that loops along a wall go deep only at the wall.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "stencil/ranks/division.hpp"
#include "terrace/stencil/chain.hpp"

namespace terrace::stencil {

// What one rank does of a chain.
struct RankWork {
  std::vector<Range> ranges;          // of each loop; empty ones begin where they end
  std::map<DatasetId, Range> needed;  // what it reads that was there before the chain, its own points included
  std::map<DatasetId, Range> used;    // the smallest range of all that it reads or writes
};
[[nodiscard]] RankWork work_of(std::span<const Loop> chain, const Range& own);

// A part of a dataset that goes from one rank to another.
struct Transfer {
  DatasetId dataset = 0;
  Range range;
};
struct Traffic {
  std::size_t rank = 0;  // the other one
  std::vector<Transfer> transfers;
};

// Loops of a chain that run after one exchange, as one rank sees them.
struct RankPiece {
  std::size_t first = 0;  // of the chain's loops
  std::size_t last = 0;   // one behind
  RankWork work;
  std::vector<Traffic> sent;
  std::vector<Traffic> received;
  std::set<DatasetId> exchanged;  // by any ranks
  std::set<DatasetId> needed;     // by any rank, from before
  std::set<DatasetId> written;    // by any rank
  Point depth{0, 0, 0};           // the most layers that a rank needs of others in each dimension
  double redundant_bytes = 0;     // as bytes_of(), of points that are not this rank's own
};

// The chain as one piece, unless a rank needs more layers than `max_depth` (0: see Options::depth): then it is
// halved, and the halves in turn. A loop that by itself needs more is a piece all the same: ranks exchange with
// all that have what they need, next to them or not.
[[nodiscard]] std::vector<RankPiece> plan_ranks(std::span<const Loop> chain, const Division& division,
                                                std::size_t rank, std::ptrdiff_t max_depth = 0);

}  // namespace terrace::stencil
