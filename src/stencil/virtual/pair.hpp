// Two memories of a machine and what computes: the numbers by which chains are priced in virtual time.
#pragma once

#include <string>

#include "core/units.hpp"
#include "machine/machine.hpp"

namespace terrace::stencil {

struct Pair {
  std::string fast_name;
  std::string slow_name;
  double fast_bytes = 0;      // that datasets may take in the fast memory
  double fast_bandwidth = 0;  // bytes a second that loops get of each memory, all cores together
  double slow_bandwidth = 0;
  double in_bandwidth = 0;  // of copies from the slow memory to the fast one, and back, each alone
  double out_bandwidth = 0;
  // Of the slow memory itself, which copies both ways share: bytes read over the one and bytes written over the
  // other are no more than the time (design: "Making time"). Behind a link that has its own bandwidth each way it
  // is that of the memory there.
  double slow_read = 0;
  double slow_write = 0;
  // Bytes a second that the program's own loops reach in the fast memory: less than the memory's where they are
  // held back by arithmetic or latency.
  double loop_bandwidth = 0;
  double launch = 0;       // seconds that each piece of a loop takes to begin
  double call = 0;         // seconds that it takes to begin a copy
  double fault = 0;        // seconds for a batch of faults, of a GPU's unified memory
  double fault_bytes = 0;  // that a batch brings at the most

  // Of loops that go over so many bytes in the fast memory, in so many pieces.
  [[nodiscard]] double loop_seconds(double bytes, double pieces = 1) const {
    return bytes / loop_bandwidth + pieces * launch;
  }
};

// What a user states beside the machine.
struct PairOptions {
  Bytes memory{0};            // 0: the fast place's capacity
  double loop_bandwidth = 0;  // 0: the fast memory's
};

// The machine's two fastest places of its first initiator. Throws Error{invalid} where it has only one.
[[nodiscard]] Pair pair_of(const machine::Machine& machine, const PairOptions& options);

}  // namespace terrace::stencil
