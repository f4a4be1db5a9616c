// SPDX-License-Identifier: Apache-2.0
// Two memories of a machine and what computes: the numbers by which chains are priced in virtual time.
#pragma once

#include <string>

#include "core/units.hpp"
#include "machine/copier_price.hpp"
#include "machine/machine.hpp"

namespace terrace::stencil {

// What a copy takes beside its bytes.
struct CopyPrice {
  double begin = 0;  // seconds of who copies, before the first byte
  double stall = 0;  // seconds in which no loop runs
};

struct TwoTierMachine {
  std::string fast_name;
  std::string slow_name;
  double fast_bytes = 0;      // that datasets may take in the fast memory
  double slow_bytes = 0;      // and in the slow one
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
  double launch = 0;  // seconds that each piece of a loop takes to begin
  // Who copies: engines of a GPU, which take `call` for each copy, and the driver, which takes `map` for each
  // chunk that gets addresses; or cores, at the price of the machine's copier.
  bool is_gpu = false;
  double call = 0;
  double map = 0;
  machine::CopierPrice copier{.name = machine::k_ideal_copier};
  // Of a processor: its threads that run loops while others copy, and what they reach of loop_bandwidth.
  std::size_t cores = 1;
  std::size_t threads = 1;
  double beside_copies = 1;
  std::size_t cache = 0;   // bytes, of a thread's own
  double fault = 0;        // seconds for a batch of faults, of a GPU's unified memory
  double fault_bytes = 0;  // that a batch brings at the most

  // Of loops that go over so many bytes in the fast memory, in so many pieces.
  [[nodiscard]] double loop_seconds(double bytes, double pieces = 1) const {
    return bytes / loop_bandwidth + pieces * launch;
  }
  // Of a copy of so many bytes to or from memory that keeps its addresses.
  [[nodiscard]] CopyPrice copy_price(double bytes) const;
  // Of a chunk that gets addresses in the fast memory, without its bytes: whether they are copied or not.
  [[nodiscard]] CopyPrice map_price(double bytes) const;
  // The same threads copy both ways, one copy after the other.
  [[nodiscard]] bool is_mover_shared() const { return !is_gpu && copier.threads > 0; }
};

// What a user states beside the machine.
struct TwoTierOptions {
  Bytes memory{0};            // 0: the fast place's capacity
  Bytes slow_memory{0};       // 0: the slow place's
  double loop_bandwidth = 0;  // 0: the fast memory's
};

// The machine's two fastest places of its first initiator. Throws Error{invalid} where it has only one.
[[nodiscard]] TwoTierMachine two_tier_machine(const machine::Machine& machine, const TwoTierOptions& options);

// Room for datasets in the slow memory, or in both together.
class SlowMemoryBudget {
 public:
  explicit SlowMemoryBudget(const TwoTierMachine& tiers, bool with_fast = false)
      : name_(tiers.slow_name + (with_fast ? " and " + tiers.fast_name : "")),
        bytes_(tiers.slow_bytes + (with_fast ? tiers.fast_bytes : 0)) {}
  // Throws Error{invalid} where there is not so much left.
  void reserve(double bytes);

 private:
  std::string name_;
  double bytes_;
  double taken_ = 0;
};

}  // namespace terrace::stencil
