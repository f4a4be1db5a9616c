// SPDX-License-Identifier: Apache-2.0
// Cuts phases into segments by the program's own progress, so that a plan can act inside a phase: for example,
// stream an array that exceeds fast memory through it, overlapped with the computation. Profiling calls it.
// Progress is counted in accesses (on a machine with counters: in retired instructions), which do not depend on
// where data resides.
//
// The length of a phase is unknown the first time. Every report of progress then ends a segment; when there are
// more than k_max_segments, the two neighbours with the least time together are merged. So segments are short
// where time is spent, whatever the number of accesses. From the second instance on the same cuts are repeated.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "profile/profile.hpp"

namespace terrace::runtime {

inline constexpr std::size_t k_max_segments = 64;  // of one phase, the open one not counted

class Segmenter {
 public:
  struct Cut {
    bool ends = false;                 // a segment ends here, another begins
    std::size_t closed = 0;            // segments of this phase that have ended
    std::optional<std::size_t> merge;  // of these, the one that takes in its successor
  };

  void begin_phase(PhaseIndex index);
  // Reports `progress` accesses since the phase began and `time` since the segment began.
  Cut on_progress(std::uint64_t progress, Seconds time);
  // Returns where the current segment begins.
  [[nodiscard]] std::uint64_t offset() const { return current_.back(); }
  // Ends the phase. Returns the offsets of segments that it had in an earlier iteration and did not reach now.
  std::vector<std::uint64_t> end_phase();
  void reset() { known_.clear(); }

 private:
  struct Phase {
    std::vector<std::uint64_t> offsets;  // of its segments; the first is 0
    bool complete = false;               // it has ended once: the cuts are fixed
  };
  std::vector<Phase> known_;            // by position in the iteration
  std::vector<std::uint64_t> current_;  // offsets passed in this phase
  std::vector<Seconds> times_;          // of the segments that have ended, while the cuts are being found
  Phase* phase_ = nullptr;
};

}  // namespace terrace::runtime
