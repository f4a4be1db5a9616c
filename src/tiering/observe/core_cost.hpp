// What a quantum costs the core that ran it, as far as that does not depend on where data resides: the core time C
// of the time law, and how many latencies its misses expose (D, once the latency of each place is known). The
// simulator makes time of both, the exact collector reports them, the sampling collector's clock runs on them.
//
// C = instructions x what one takes + hits at each level of the caches beyond the first x what one of many such
// hits costs (as the machine file has it measured, else latency / mlp, as independent misses overlap): the first
// level's hits are part of the instructions' time; + page walks of such hits x what one of many costs; + calls of
// libm's functions x what one takes. A chain of dependent hits, or of such calls, is under-estimated by that. Both
// C and D are for `cores` cores that each do the same on their share of the data, while one program thread stands
// for all of them: its counts divide by `cores`.
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

  // What an instruction takes from now on: a phase may have a time of its own.
  void set_instruction_time(Seconds time) { instruction_ = time.value / cores_; }

  [[nodiscard]] Seconds core_time(const Quantum& quantum) const;
  // What one of many hits costs at a level beyond the first.
  [[nodiscard]] Seconds hit_time(std::size_t level) const { return {hit_[level]}; }
  // Latencies exposed, in units of the latency of the place where the data resides.
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
  double instruction_ = 0;  // seconds, for one program thread that stands for all the cores
  std::array<double, k_max_cache_levels> hit_{};
  double walk_ = 0;
  std::array<double, machine::k_library_functions> call_{};
  double prefetched_ = 0;  // latencies
  double independent_ = 0;
  double weight_ = 0;  // for each 255th
};

}  // namespace terrace::observe
