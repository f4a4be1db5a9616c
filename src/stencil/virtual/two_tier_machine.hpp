// SPDX-License-Identifier: Apache-2.0
// Defines bandwidth and latency parameters of a two-tier machine (a fast and a slow memory, and what computes), by
// which the modes price chains in virtual time.
#pragma once

#include <string>

#include "core/units.hpp"
#include "machine/copier_price.hpp"
#include "machine/machine.hpp"

namespace terrace::stencil {

// Costs of a copy besides its bytes.
struct CopyPrice {
  double begin = 0;  // start-up, in seconds of the copier, before the first byte
  double stall = 0;  // seconds in which loops stall
};

struct TwoTierMachine {
  std::string fast_name;
  std::string slow_name;
  double fast_bytes = 0;      // capacity for datasets in the fast memory
  double slow_bytes = 0;      // capacity for datasets in the slow memory
  double fast_bandwidth = 0;  // bytes/s that loops reach in each memory, all cores together
  double slow_bandwidth = 0;
  double in_bandwidth = 0;  // bytes/s of copies to the fast memory and back, each direction alone
  double out_bandwidth = 0;
  // Bandwidth of the slow memory itself, shared by copies in both directions: bytes read / slow_read + bytes
  // written / slow_write is at most the time (design: "Making time"). Behind a full-duplex link it is the
  // bandwidth of the memory there.
  double slow_read = 0;
  double slow_write = 0;
  // Bytes/s that the program's loops reach in the fast memory: less than the memory's bandwidth where
  // arithmetic or latency limits them.
  double loop_bandwidth = 0;
  double launch = 0;  // seconds to launch each piece of a loop
  // The copier. GPU: its copy engines take `call` seconds for each copy, and the driver takes `map` seconds for
  // each chunk that it maps. Otherwise cores copy, at the price of the machine's copier.
  bool is_gpu = false;
  double call = 0;
  double map = 0;
  machine::CopierPrice copier{.name = machine::k_ideal_copier};
  // Processor: threads that run loops while others copy, and the fraction of loop_bandwidth that these reach
  // meanwhile.
  std::size_t cores = 1;
  std::size_t threads = 1;
  double beside_copies = 1;
  std::size_t cache = 0;   // private cache of a thread, in bytes
  double fault = 0;        // seconds for each batch of page faults of GPU unified memory
  double fault_bytes = 0;  // maximum bytes that a batch migrates

  // Returns the seconds of loops over `bytes` in the fast memory, in `pieces` launches.
  [[nodiscard]] double loop_seconds(double bytes, double pieces = 1) const {
    return bytes / loop_bandwidth + pieces * launch;
  }
  // Returns the price of a copy between memories whose addresses stay.
  [[nodiscard]] CopyPrice copy_price(double bytes) const;
  // Returns the price of mapping a chunk in the fast memory, its bytes excluded: due whether they are copied or
  // not.
  [[nodiscard]] CopyPrice map_price(double bytes) const;
  // Returns whether the same threads copy in both directions, one copy at a time.
  [[nodiscard]] bool is_mover_shared() const { return !is_gpu && copier.threads > 0; }
};

// Options of the user that override the machine's values.
struct TwoTierOptions {
  Bytes memory{0};            // 0: the fast memory's capacity
  Bytes slow_memory{0};       // 0: the slow memory's capacity
  double loop_bandwidth = 0;  // 0: the fast memory's bandwidth
};

// Returns the two fastest places of the machine's first initiator. Throws Error{invalid} if it has only one.
[[nodiscard]] TwoTierMachine two_tier_machine(const machine::Machine& machine, const TwoTierOptions& options);

// Tracks the capacity that is left for datasets in the slow memory, or in both together.
class SlowMemoryBudget {
 public:
  explicit SlowMemoryBudget(const TwoTierMachine& tiers, bool with_fast = false)
      : name_(tiers.slow_name + (with_fast ? " and " + tiers.fast_name : "")),
        bytes_(tiers.slow_bytes + (with_fast ? tiers.fast_bytes : 0)) {}
  // Reserves `bytes`. Throws Error{invalid} if less is left.
  void reserve(double bytes);

 private:
  std::string name_;
  double bytes_;
  double taken_ = 0;
};

}  // namespace terrace::stencil
