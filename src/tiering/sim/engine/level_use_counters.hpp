// SPDX-License-Identifier: Apache-2.0
// Derives C-AMAT (concurrent average memory access time) of a processor in virtual time, which VirtualMachine
// reports in profiles (Sun and Wang, IEEE Computer 47(5), 2014). For each level beyond the first cache it counts
// the accesses that reach the level and the time in which it is active.
//
// Time comes from the time law, quantum by quantum, not from cycles. What a cycle-by-cycle count would observe
// follows from what the law overlaps:
//   - A place (a memory) is active for max(D_m, B_m): the time the law would give its traffic alone, whether
//     latencies that the program cannot overlap or transferred lines. All of it is hit phase, because no level is
//     below.
//   - A cache is active in its hit phase for its hits, at the throughput cost of a hit. Its pure-miss time is the
//     hits of the caches below it and the time in which places stall the program: D, and what bandwidth costs
//     beyond C + D. The law adds these, so none of them overlaps another.
// C-AMAT is the sum of both over the accesses. Its five parameters are not available: the law knows what all
// misses cost, not which of them overlaps a hit, so neither the number of pure misses nor their concurrency is
// known. The first cache is not available either: its hits are part of the instructions' time.
//
// Traffic counts where a chunk resides as the quantum passes. The times of several threads are added, as in
// TimeAccount: two threads that wait for a place at once count twice.
#pragma once

#include <array>
#include <vector>

#include "observe/access_sink.hpp"
#include "profile/records.hpp"
#include "sim/engine/time_law.hpp"

namespace terrace::sim {

class LevelUseCounters {
 public:
  explicit LevelUseCounters(std::size_t places) : lines_(places), active_(places) {}

  // Adds the cache hits of a quantum and the number of its misses.
  void begin_quantum(const observe::Quantum& quantum, std::uint64_t misses);
  // Adds the share `progress` of the quantum, with its traffic on these places.
  void add_progress(const TimeLaw& law, const TimeLaw::Traffic& by_place, const Demand& demand, double progress);

  // Returns the caches beyond the first, from the core outwards, then the places. `held_up`: time in which places
  // stalled the program, D plus what bandwidth cost.
  [[nodiscard]] std::vector<profile::LevelUse> levels(const machine::Machine& machine, InitiatorId initiator,
                                                      const TimeLaw& law, Seconds held_up) const;

 private:
  std::array<std::uint64_t, observe::k_max_cache_levels> hits_{};
  std::uint64_t misses_ = 0;
  std::vector<double> lines_;   // by place, read and written
  std::vector<double> active_;  // by place, seconds
};

}  // namespace terrace::sim
