// SPDX-License-Identifier: Apache-2.0
// Computes how the time of a rank's iteration falls as it gets more of a fast place, from the placement problem of
// a profiled iteration. Ranks of an MPI job exchange these curves, and divide their node's fast memory by them
// (memory_division.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/identifiers.hpp"
#include "core/units.hpp"
#include "model/problem.hpp"

namespace terrace::strategy {

// The time that a rank computes in each phase, without the time inside of MPI calls, if its best data resides in
// the place: none of it at step 0; at the last step all items that become faster, or those that fit into the
// budget of the node. All other data is in the home place. Trivially copyable: curves are published to other
// processes.
struct GainCurve {
  static constexpr std::size_t k_max_steps = 16;
  static constexpr std::size_t k_max_phases = 60;  // more phases count as one

  std::uint64_t phase_names = 0;  // hash of the phases' names in order: equal phases of ranks can be compared
  std::uint32_t num_phases = 0;
  std::uint32_t num_steps = 0;                                          // besides step 0
  std::array<std::uint64_t, k_max_steps + 1> bytes{};                   // in the place, ascending
  std::array<std::array<float, k_max_phases>, k_max_steps + 1> time{};  // seconds, [step][phase]

  [[nodiscard]] double iteration_time(std::size_t step) const;
};

// Computes the curve of a place. `budget`: the node's, which its ranks share. `in_mpi`: time inside of MPI calls
// in the profiled iteration, by phase; segments of a phase are one phase here. Without an entry for each phase it
// counts as 0. Requires: the place is not its domain's home place.
[[nodiscard]] GainCurve gain_curve(const model::Problem& problem, PlaceId place, Bytes budget,
                                   std::span<const Seconds> in_mpi);

}  // namespace terrace::strategy
