// SPDX-License-Identifier: Apache-2.0
// Plans the distributed execution of a chain: what each rank computes, and what ranks exchange. Used by the
// executor Distributed. Plans are plain values.
//
// A rank computes its own points of all loops, and redundantly those points of other ranks that its own depend
// on. So ranks exchange once, before the chain, as deep as the whole chain reads; no communication is needed
// within it. The plan walks the chain backwards and tracks, for each dataset, the range that later loops read.
// A loop that writes it computes that range, too, and what it reads there is added in turn.
//
// Every rank computes the plans of all ranks from the chain and the decomposition alone, so no negotiation is
// needed. The method is that of I. Reguly, G. Mudalige, M. Giles, "Loop tiling in large-scale stencil codes at
// run-time with OPS", IEEE TPDS 29(4), 2018, for distributed memory. Ranges for each rank replace its uniform
// halo depths, so that loops along a wall need deep halos only at the wall.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "stencil/ranks/division.hpp"
#include "terrace/stencil/chain.hpp"

namespace terrace::stencil {

// The work of one rank.
struct RankWork {
  std::vector<Range> ranges;          // by loop; empty ranges begin where they end
  std::map<DatasetId, Range> needed;  // values from before the chain that it reads, its own points included
  std::map<DatasetId, Range> used;    // bounding range of all its accesses
};
// Returns the work of the rank that owns the points `own`.
[[nodiscard]] RankWork work_of(std::span<const Loop> chain, const Range& own);

// A range of a dataset that one rank sends to another.
struct Transfer {
  DatasetId dataset = 0;
  Range range;
};
struct Traffic {
  std::size_t rank = 0;  // the peer
  std::vector<Transfer> transfers;
};

// The loops of a chain between two exchanges, as one rank sees them.
struct RankPiece {
  std::size_t first = 0;  // index of the first loop
  std::size_t last = 0;   // one past the last loop
  RankWork work;
  std::vector<Traffic> sent;
  std::vector<Traffic> received;
  std::set<DatasetId> exchanged;  // by any rank
  std::set<DatasetId> needed;     // from before, by any rank
  std::set<DatasetId> written;    // by any rank
  Point depth{0, 0, 0};           // maximum halo layers that any rank needs, by dimension
  double redundant_bytes = 0;     // bytes_of() of points that other ranks own
};

// Plans the chain as one piece, unless a rank needs more halo layers than `max_depth` (0: see Options::depth):
// then it is bisected recursively. A single loop that needs more stays one piece: ranks then exchange with all
// owners, neighbours or not.
[[nodiscard]] std::vector<RankPiece> plan_ranks(std::span<const Loop> chain, const Division& division,
                                                std::size_t rank, std::ptrdiff_t max_depth = 0);

}  // namespace terrace::stencil
