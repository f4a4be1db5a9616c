// SPDX-License-Identifier: Apache-2.0
// Implements the time law of virtual time: the time of a program segment, from its demand on the core and each
// place. VirtualMachine computes every quantum's time by it.
//
//     T = max( C + D, B_m for every place m, X )
//
// While a copy runs concurrently, both are fluids: the program advances at some speed (segments per second), the
// copy at some rate (bytes per second). A place m is busy for speed x B_m + rate x (seconds per byte on m), at
// most all of the time. Whichever is slower than it would be alone is limited by a place that is busy all of the
// time and of which it has at least half. What one cannot use, because something else limits it, the other gets.
// So:
//   - a copy alone runs at copy bandwidth, or at what the slower of its two places provides if that is less;
//   - no place is ever idle while a program or copy that could use it is limited by it (work-conserving);
//   - the core, every place and the copy engine work at most all of the time; hence any segment, whatever copies
//     run concurrently, takes at least C + D, B_m with the copies' bytes in it, and X: rows of the lower bound;
//   - a saturated memory still lets copies progress, and copies never stop the program.
// Half is what memory controllers with round-robin service give each of two clients.
//
// A copy costs its copier's price (machine/copier_price.hpp), spread over its bytes. Its threads run on cores that
// the program leaves free. If there is none, one copy thread shares the program's cores, and both slow down.
#pragma once

#include <vector>

#include "machine/machine.hpp"
#include "observe/core_cost.hpp"
#include "observe/place_view.hpp"

namespace terrace::sim {

// Demand of a segment, in seconds.
struct Demand {
  double core = 0;           // C
  double exposed = 0;        // D
  std::vector<double> busy;  // B_m, by place, without transfers

  // Returns max(C + D, B_m): the time it takes alone, with the share `pace` of its cores.
  [[nodiscard]] double longest(double pace = 1) const;
};

// Demand of a copy.
struct CopyDemand {
  PlaceId from = 0;
  PlaceId to = 0;
  double rate = 0;       // bytes/s when nothing else runs
  double from_byte = 0;  // seconds that a byte occupies the source
  double to_byte = 0;    // and the target
  double pace = 1;       // share of its cores that the program keeps meanwhile
};

struct Speeds {
  double program = 0;  // segments per second; infinite for a segment without demand
  double copy = 0;     // bytes per second
};

// Returns the speeds of a program segment and a copy that run concurrently.
Speeds share(const Demand& demand, const CopyDemand& copy);

class TimeLaw {
 public:
  // Takes the machine's constants as `initiator` sees them; `cores` as in CoreCost. Throws as CoreCost does.
  TimeLaw(const machine::Machine& machine, InitiatorId initiator, double cores);

  // Misses by the place on which they fall.
  using Traffic = std::vector<observe::ChunkTraffic>;
  // Computes the demand of `by_place`. `core`: C. Sums are taken in the order of the places, so equal counts give
  // equal digits.
  void price(Seconds core, const Traffic& by_place, Demand& demand) const;
  // Returns the latency that misses on the place expose, in seconds: its part of D.
  [[nodiscard]] double exposed(const observe::ChunkTraffic& traffic, PlaceId place) const {
    return cost_.exposure(traffic) * view_.path(place).latency.value;
  }
  // Returns the demand of copying a chunk of `size` while `threads` program threads are alive.
  [[nodiscard]] CopyDemand copy(PlaceId from, PlaceId to, Bytes size, std::uint32_t threads) const;
  [[nodiscard]] const machine::CopierPrice& copier() const { return copier_; }
  // Returns the cores that so many program threads leave free; each thread counts as the cores that it stands for.
  [[nodiscard]] double free_cores(std::uint32_t threads) const;
  // Returns each program thread's share of a core if one thread more than there are cores wants to run.
  [[nodiscard]] double shared_pace(std::uint32_t threads) const;
  // Makes copies free from now on, in time and on the places, to evaluate a plan without the cost of its moves.
  void make_copies_free() {
    free_copies_ = true;
    copier_ = {};
  }
  [[nodiscard]] const observe::CoreCost& cost() const { return cost_; }
  void set_instruction_time(Seconds time) { cost_.set_instruction_time(time); }
  [[nodiscard]] const observe::PlaceView& view() const { return view_; }

 private:
  const machine::Machine& machine_;
  InitiatorId initiator_;
  double cores_;
  machine::CopierPrice copier_;
  observe::CoreCost cost_;
  observe::PlaceView view_;
  double line_;
  bool free_copies_ = false;
};

}  // namespace terrace::sim
