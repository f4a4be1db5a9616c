// SPDX-License-Identifier: Apache-2.0
// Moves chunks while the program is still being profiled, before there is a plan, by the rent-or-buy (ski rental)
// rule, for EarlyMover. A chunk in slow memory accumulates the time that its accesses would save in fast memory,
// and is promoted once that equals the cost of its move (2-competitive: Karlin, Manasse, Rudolph and Sleator,
// "Competitive snoopy caching", Algorithmica 3, 1988). If fast memory is full, chunks that saved less are evicted,
// provided that the difference pays for both moves.
//
// Sequential sweeps through an object are prefetched: the next chunks are promoted ahead of use if the previous
// ones saved more than a move in and out costs. When the sweep has passed, prefetched chunks are evicted first.
//
// Invariant: all moves so far cost at most the budget (select_moves()) plus their net gain: time saved by promoted
// chunks, less time lost by evicted ones.
//
// Uses only the access counts of the profile; needs no other information from the machine.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "machine/machine.hpp"
#include "profile/profile.hpp"
#include "strategy/learning/sweep_detector.hpp"
#include "strategy/policy.hpp"
#include "transfer/mover.hpp"

namespace terrace::strategy {

class EarlyMoveSelector {
 public:
  // Returns what a move of the chunk costs the program.
  using Cost = std::function<Seconds(ChunkId, PlaceId from, PlaceId to)>;

  // The machine outlives it. Without `cost` a move costs size / copy bandwidth.
  EarlyMoveSelector(const machine::Machine& machine, InitiatorId initiator, Cost cost = {})
      : machine_(machine), initiator_(initiator), cost_(std::move(cost)) {}

  // Accounts for a segment of the program that has ended. It represents `times` its own time, because segments may
  // be skipped.
  void on_segment(const observe::Phase& segment, const Tiers& tiers, double times = 1);
  // Returns the moves that pay now, evictions first. Requires: the moves of the last call are done. `budget`: max
  // net loss (cost less gain) of all moves, these included.
  [[nodiscard]] std::vector<transfer::TransferRequest> select_moves(const Tiers& tiers,
                                                                    Seconds budget = Seconds{
                                                                        std::numeric_limits<double>::infinity()});

 private:
  struct Resident {
    ChunkId chunk = 0;
    double worth = 0;  // when it was put here: it has grown since
  };
  [[nodiscard]] double accumulated_gain(ChunkId chunk) const {
    return chunk < accumulated_gain_.size() ? accumulated_gain_[chunk] : 0;
  }
  [[nodiscard]] double worth(ChunkId chunk, const Tiers& tiers) const {
    return accumulated_gain(chunk) / static_cast<double>(tiers.size(chunk).value);
  }
  struct Selection {  // the state of select_moves()
    const Tiers& tiers;
    Bytes free;
    std::vector<transfer::TransferRequest> moves;
    double credit;  // budget left for further moves, s; not credit_, the mover's time for prefetches
  };
  struct PrefetchedChunk {
    ChunkId chunk = 0;
    std::uint32_t promoted_in = 0;  // segment
    std::uint32_t segments = 1;     // for which the one before it was used
  };
  [[nodiscard]] bool make_room(Selection& selection, ChunkId chunk, double worth, bool is_prefetch);
  [[nodiscard]] bool has_passed(const PrefetchedChunk& one) const;
  void prefetch_sweeps(Selection& selection);
  void promote_paid(Selection& selection);
  [[nodiscard]] double cost(const Tiers& tiers, ChunkId chunk, PlaceId from, PlaceId to) const;
  [[nodiscard]] double both_ways(const Tiers& tiers, ChunkId chunk) const;
  void count_gain(const SweepDetector::Use& use, const Tiers& tiers, double times);
  [[nodiscard]] bool is_prefetched(ChunkId chunk) const;
  void admit(ChunkId chunk, const Tiers& tiers);
  void pop_resident();
  void find_residents(const Tiers& tiers);
  const Resident* min_worth(const Tiers& tiers);

  const machine::Machine& machine_;
  InitiatorId initiator_;
  Cost cost_;
  double gained_ = 0;                     // net gain of all moves so far (saved less cost), s; may be negative
  std::vector<PlaceId> sent_to_;          // by chunk, where it was moved last; k_no_place: nowhere
  std::vector<double> accumulated_gain_;  // by chunk: seconds, in slow memory or saved in fast memory
  std::vector<double> lost_;              // of these in slow memory, since it was in fast memory
  std::vector<ChunkId> candidates_;       // chunks whose loss has reached the cost of a promotion
  std::vector<ChunkId> requested_;        // promotions of the last selection
  std::vector<Resident> residents_;       // of fast memory: a heap, the least worth on top
  bool has_residents_ = false;
  SweepDetector sweeps_;
  std::vector<SweepDetector::Use> uses_;     // of the last segment
  std::vector<SweepDetector::Use> ahead_;    // predicted uses that were not prefetched yet
  double credit_ = 0;                        // the mover's time for prefetches, s
  std::vector<PrefetchedChunk> prefetched_;  // in request order
};

}  // namespace terrace::strategy
