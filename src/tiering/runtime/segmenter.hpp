// Cuts phases into segments by the program's own progress, so that a plan can act inside a phase: stream an array
// that does not fit through fast memory, chunk by chunk, beside the computation. Progress is counted in accesses
// (on a machine with counters: in retired instructions), which does not depend on where data resides.
//
// How long a phase is nobody knows the first time: every report of progress ends a segment, and when there are
// more than k_max_segments, the two neighbours that took least time together become one. So segments are short
// where time is spent, whatever the number of accesses. From the second time on the same cuts are made again.
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
  // `progress` accesses into the phase, `time` since the segment began.
  Cut progressed(std::uint64_t progress, Seconds time);
  // Where the segment that began last begins.
  [[nodiscard]] std::uint64_t offset() const { return current_.back(); }
  // The phase is over. Segments that it had in an earlier iteration and did not reach now: their offsets.
  std::vector<std::uint64_t> end_phase();
  void forget() { known_.clear(); }

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
