// SPDX-License-Identifier: Apache-2.0
// Defines the counters of C-AMAT (concurrent average memory access time, model/camat) of a simulated GPU: of each
// SM's L1 cache (by warp accesses and by line parts), of each slice of the L2 cache and of each DRAM channel. They
// cover the whole run, and its intervals: kernel by kernel, or every N cycles.
//
// An interval's counters are the difference of two snapshots, so those of all intervals add up to the run's, as
// integers. What spans the end of an interval is counted as camat.hpp says: cycles where they pass, accesses where
// they begin.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gpu_sim/engine/event_wheel.hpp"
#include "model/camat/camat.hpp"

namespace terrace::gpu_sim {

struct CamatLevels {
  std::vector<model::CamatCounters> l1_by_warp;  // by SM
  std::vector<model::CamatCounters> l1_by_part;  // by SM
  std::vector<model::CamatCounters> l2;          // by channel
  std::vector<model::CamatCounters> dram;        // by channel

  // Returns the difference from an earlier snapshot of the same GPU.
  CamatLevels operator-(const CamatLevels& earlier) const;
  CamatLevels& operator+=(const CamatLevels& other);
  bool operator==(const CamatLevels&) const = default;
};

// Returns the sum over all caches of a level.
[[nodiscard]] model::CamatCounters camat_sum(const std::vector<model::CamatCounters>& level);

// Counters of the cycles in [begin, end).
struct CamatInterval {
  std::string kernel;  // empty: not of a kernel
  Cycle begin = 0;
  Cycle end = 0;
  CamatLevels levels;
};

// Which intervals a run counts in addition to the whole.
struct CamatOptions {
  bool by_kernel = false;
  Cycle every = 0;  // cycles of an interval; 0: no intervals over time
};

// A sequence of adjacent intervals.
class CamatIntervals {
 public:
  void end_interval(std::string kernel, Cycle at, CamatLevels counted);
  // Ends the last interval with what remains after the others, if anything.
  void end_rest(Cycle at, const CamatLevels& counted);
  [[nodiscard]] Cycle last_end() const { return parts_.empty() ? 0 : parts_.back().end; }
  std::vector<CamatInterval> take() { return std::move(parts_); }

 private:
  CamatLevels before_;
  std::vector<CamatInterval> parts_;
};

}  // namespace terrace::gpu_sim
