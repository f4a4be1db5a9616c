// What moves before there is a plan, while the program is profiled: rent or buy. A chunk in slow memory pays rent,
// the time that its accesses would take less in fast memory, and comes in once it has paid what moving it costs
// (the rule that is never twice as dear as knowing the future: Karlin, Manasse, Rudolph and Sleator, "Competitive
// snoopy caching", Algorithmica 3, 1988). Where there is no room, chunks go whose accesses have gained less, by so
// much that both copies are paid for.
//
// Where the program sweeps through an object, what it uses next is brought early, if the chunks before
// paid for a copy there and back while they were used; when the sweep has passed, chunks brought early make room
// first.
//
// All moves together may cost a budget and what the chunks that moved have gained since, less what those that left
// have lost.
//
// What the counts are is what the profile is made of; nothing else is asked of the machine.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "machine/machine.hpp"
#include "profile/profile.hpp"
#include "strategy/learning/sweeps.hpp"
#include "strategy/policy.hpp"
#include "transfer/mover.hpp"

namespace terrace::strategy {

class EarlyMoves {
 public:
  // Returns what a move of the chunk costs the program.
  using Cost = std::function<Seconds(ChunkId, PlaceId from, PlaceId to)>;

  // The machine outlives it. `cost`: empty where a move costs the copy of its bytes.
  EarlyMoves(const machine::Machine& machine, InitiatorId initiator, Cost cost = {})
      : machine_(machine), initiator_(initiator), cost_(std::move(cost)) {}

  // A stretch of the program is over, and stands for the time since the last one: `times` its own.
  void passed(const observe::Phase& stretch, const Tiers& tiers, double times = 1);
  // What is worth moving now, room made first. What was asked for last time is done. `budget`: what all moves so
  // far, and these, may cost more than they have gained.
  [[nodiscard]] std::vector<transfer::TransferRequest> choose(const Tiers& tiers,
                                                              Seconds budget = Seconds{
                                                                  std::numeric_limits<double>::infinity()});

 private:
  struct Resident {
    ChunkId chunk = 0;
    double worth = 0;  // when it was put here: it has grown since
  };
  [[nodiscard]] double paid(ChunkId chunk) const { return chunk < paid_.size() ? paid_[chunk] : 0; }
  [[nodiscard]] double worth(ChunkId chunk, const Tiers& tiers) const {
    return paid(chunk) / static_cast<double>(tiers.size(chunk).value);
  }
  struct Making {  // of a choice
    const Tiers& tiers;
    Bytes free;
    std::vector<transfer::TransferRequest> moves;
    double credit;  // seconds that further moves may cost
  };
  struct EarlyChunk {
    ChunkId chunk = 0;
    std::uint32_t came = 0;       // stretch
    std::uint32_t stretches = 1;  // for which the one before it was used
  };
  [[nodiscard]] bool make_room(Making& making, ChunkId chunk, double worth, bool for_guest);
  [[nodiscard]] bool has_passed(const EarlyChunk& one) const;
  void bring_ahead(Making& making);
  void bring_what_paid(Making& making);
  [[nodiscard]] double cost(const Tiers& tiers, ChunkId chunk, PlaceId from, PlaceId to) const;
  [[nodiscard]] double both_ways(const Tiers& tiers, ChunkId chunk) const;
  void count_gain(const Sweeps::Use& use, const Tiers& tiers, double times);
  [[nodiscard]] bool is_guest(ChunkId chunk) const;
  void admit(ChunkId chunk, const Tiers& tiers);
  void expel_one();
  void find_residents(const Tiers& tiers);
  const Resident* least_worth(const Tiers& tiers);

  const machine::Machine& machine_;
  InitiatorId initiator_;
  Cost cost_;
  double gained_ = 0;                // seconds, by moves so far, less what they cost
  std::vector<PlaceId> sent_to_;     // by chunk, where it was moved last; k_no_place: nowhere
  std::vector<double> paid_;         // by chunk: seconds, in slow memory or saved in fast memory
  std::vector<double> lost_;         // of these in slow memory, since it was in fast memory
  std::vector<ChunkId> wanting_;     // those that have paid enough to come in
  std::vector<ChunkId> coming_;      // what was asked for last
  std::vector<Resident> residents_;  // of fast memory: a heap, the least worth on top
  bool found_ = false;
  Sweeps sweeps_;
  std::vector<Sweeps::Use> uses_;   // of the last stretch
  std::vector<Sweeps::Use> ahead_;  // what sweeps use next, and did not come yet
  double credit_ = 0;               // seconds in which to copy it
  std::vector<EarlyChunk> early_;   // in the order in which they came
};

}  // namespace terrace::strategy
