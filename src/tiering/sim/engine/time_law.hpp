// The time law of virtual time: from what a stretch of a program asks of the core and of each place, to seconds.
//
//     T = max( C + D, B_m for every place m, X )
//
// While a copy runs beside the program both are fluids: the program goes on at some speed (stretches a second),
// the copy at some rate (bytes a second), and a place m is busy for speed x B_m + rate x (seconds a byte on m), at
// most all of the time. Who goes more slowly than it would alone is held back by a place that is busy all of the
// time and of which it has at least half; what one cannot use, because something else holds it back, the other
// gets. So:
//   - a copy alone goes at copy bandwidth, or what the slower of its two places gives if that is less;
//   - no place is ever idle while someone who could use it is held back by it (work-conserving);
//   - the core, every place and the copy engine work at most all of the time, hence any stretch, whatever copies
//     run beside it, takes at least C + D, B_m with the copies' bytes in it, and X: the rows of the lower bound;
//   - a saturated memory still lets copies progress, and copies never stop the program.
// Half is what memory controllers that serve their clients in turn give two of them.
//
// A copy is made at its copier's price (machine/copier_price.hpp), spread over its bytes. Its threads take cores
// that the program leaves free; where there is none, one of them shares the program's, and both go more slowly.
#pragma once

#include <vector>

#include "machine/machine.hpp"
#include "observe/core_cost.hpp"
#include "observe/place_view.hpp"

namespace terrace::sim {

// What a stretch asks for, in seconds.
struct Demand {
  double core = 0;           // C
  double exposed = 0;        // D
  std::vector<double> busy;  // B_m, by place, without transfers

  // max(C + D, B_m): the time it takes alone, on cores of which it has that share.
  [[nodiscard]] double longest(double pace = 1) const;
};

// What a copy asks for.
struct CopyDemand {
  PlaceId from = 0;
  PlaceId to = 0;
  double rate = 0;       // bytes/s when nothing else runs
  double from_byte = 0;  // seconds that a byte keeps its source busy
  double to_byte = 0;    // and its target
  double pace = 1;       // of the program's cores meanwhile
};

struct Speeds {
  double program = 0;  // stretches a second; infinite for a stretch that asks for nothing
  double copy = 0;     // bytes a second
};

// How fast both go beside one another.
Speeds share(const Demand& demand, const CopyDemand& copy);

class TimeLaw {
 public:
  // The machine's constants as `initiator` sees them; `cores` as in CoreCost. Throws as CoreCost does.
  TimeLaw(const machine::Machine& machine, InitiatorId initiator, double cores);

  // Misses by the place on which they fell.
  using Traffic = std::vector<observe::ChunkTraffic>;
  // `core`: C. The sums are taken in the order of the places, so equal counts give equal digits.
  void price(Seconds core, const Traffic& by_place, Demand& demand) const;
  // The latency that misses on the place expose, in seconds: its part of D.
  [[nodiscard]] double exposed(const observe::ChunkTraffic& traffic, PlaceId place) const {
    return cost_.exposure(traffic) * view_.path(place).latency.value;
  }
  // Of a chunk of `size`, beside `threads` of the program that are alive.
  [[nodiscard]] CopyDemand copy(PlaceId from, PlaceId to, Bytes size, std::uint32_t threads) const;
  [[nodiscard]] const machine::CopierPrice& copier() const { return copier_; }
  // Cores that so many threads of the program leave free; they count as those that each stands for.
  [[nodiscard]] double free_cores(std::uint32_t threads) const;
  // The share of a core that each of the program's has where one thread more than there are cores wants to run.
  [[nodiscard]] double shared_pace(std::uint32_t threads) const;
  // From now on copies take no time, and nothing of the places: what a plan is worth without the cost of its
  // moves.
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
