// C-AMAT of a processor in virtual time (Sun and Wang, IEEE Computer 47(5), 2014): for each level beyond the first
// cache the accesses that reach it, and the time in which it has one of them to serve.
//
// Time comes from a law, quantum by quantum, not from cycles, so what a cycle-by-cycle count would see is what the
// law says overlaps:
//   - a place (a memory) is active for max(D_m, B_m): what the law would take for its traffic alone, be it
//   latencies
//     that the program cannot overlap or lines that it transfers. All of it is hit phase: below it there is
//     nothing.
//   - a cache is active in its hit phase for its hits, at what one of many costs, and has pure-miss time in the
//   hits
//     of caches behind it and in what places hold the program up: D, and what bandwidth costs beyond C + D. The
//     law adds these one to another, so none of them overlaps with another.
// C-AMAT is the sum of both over the accesses. Its five parameters are not there: the law knows what all misses
// cost, not which of them overlaps a hit, so neither how many are pure nor how many wait at once. Nor is the first
// cache: its hits are part of the instructions' time.
//
// Traffic counts where a chunk resides as the quantum passes. Of several threads each one's time is added, as in
// TimeAccount: two that wait for a place at once count twice.
#pragma once

#include <array>
#include <vector>

#include "observe/access_sink.hpp"
#include "profile/records.hpp"
#include "sim/engine/time_law.hpp"

namespace terrace::sim {

class MemoryUse {
 public:
  explicit MemoryUse(std::size_t places) : lines_(places), active_(places) {}

  // A quantum begins: what its accesses found in the caches, and how many they missed altogether.
  void begins(const observe::Quantum& quantum, std::uint64_t misses);
  // So much of it has passed, with its traffic on these places.
  void passed(const TimeLaw& law, const TimeLaw::Traffic& by_place, const Demand& demand, double progress);

  // The caches beyond the first, from the core outwards, then the places. `held_up`: D, and what bandwidth cost.
  [[nodiscard]] std::vector<profile::LevelUse> levels(const machine::Machine& machine, InitiatorId initiator,
                                                      const TimeLaw& law, Seconds held_up) const;

 private:
  std::array<std::uint64_t, observe::k_max_cache_levels> hits_{};
  std::uint64_t misses_ = 0;
  std::vector<double> lines_;   // by place, read and written
  std::vector<double> active_;  // by place, seconds
};

}  // namespace terrace::sim
