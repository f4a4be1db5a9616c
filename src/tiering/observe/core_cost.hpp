// SPDX-License-Identifier: Apache-2.0
// Computes the placement-independent cost of a quantum for its core: the core time C of the time law, and the
// number of latencies that its misses expose (times the latency of each place: D). The simulator converts both to
// time, the exact collector reports them, the sampling collector's clock advances by them.
//
// C = instructions x time of an instruction
//   + hits at each cache level beyond the first x cost of one of many such hits (measured in the machine file,
//     else latency / mlp, as independent misses overlap); the first level's hits are part of the instructions
//   + page walks of such hits x cost of one of many walks
//   + calls of libm functions x time of a call.
// This under-estimates chains of dependent hits and of dependent calls. Both C and D are for `cores` cores that do
// the same work on their shares of the data, represented by one program thread: its counts are divided by `cores`.
#pragma once

#include <array>

#include "machine/machine.hpp"
#include "observe/access_sink.hpp"
#include "observe/tally.hpp"

namespace terrace::observe {

class CoreCost {
 public:
  // Throws Error{invalid} when `cores` is not a number above 0, Error{not_found} for an unknown initiator.
  CoreCost(const machine::Machine& machine, InitiatorId initiator, double cores);

  // Sets the time of an instruction; a phase may have its own.
  void set_instruction_time(Seconds time) { instruction_ = time.value / cores_; }

  [[nodiscard]] Seconds core_time(const Quantum& quantum) const;
  // Returns the cost of one of many hits at a level beyond the first.
  [[nodiscard]] Seconds hit_time(std::size_t level) const { return {hit_[level]}; }
  // Return the exposed latencies, in units of the latency of the place where the data resides.
  [[nodiscard]] double exposure(const ChunkTraffic& traffic) const {
    return static_cast<double>(traffic.prefetched) * prefetched_ +
           static_cast<double>(traffic.independent) * independent_ + static_cast<double>(traffic.weight) * weight_;
  }
  [[nodiscard]] double streamed_exposure(const ChunkTraffic& traffic) const {
    return static_cast<double>(traffic.prefetched) * prefetched_;
  }
  [[nodiscard]] double exposure(const Miss& miss) const {
    switch (miss.kind) {
      case MissKind::prefetched:
        return prefetched_;
      case MissKind::independent:
        return independent_ + miss.weight * weight_;
      case MissKind::dependent:
        return miss.weight * weight_;
      case MissKind::writeback:
        break;
    }
    return 0;
  }

 private:
  double cores_;
  double instruction_ = 0;  // seconds, divided by the number of cores
  std::array<double, k_max_cache_levels> hit_{};
  double walk_ = 0;
  std::array<double, machine::k_library_functions> call_{};
  double prefetched_ = 0;  // latencies
  double independent_ = 0;
  double weight_ = 0;  // for each 255th
};

}  // namespace terrace::observe
