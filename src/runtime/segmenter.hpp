// Cuts phases into segments by the program's own progress, so that a plan can act inside a phase: stream an array
// that does not fit through fast memory, chunk by chunk, beside the computation. Progress is counted in accesses
// (on a machine with counters: in retired instructions), which does not depend on where data lies.
//
// How long a phase is nobody knows the first time: segments begin short, and whenever there are k_most of them
// they are merged in pairs and become twice as long. From the second time on the same cuts are made again.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.hpp"

namespace terrace::runtime {

inline constexpr std::size_t k_most_segments = 64;  // of one phase; a power of two

class Segmenter {
 public:
  enum class Cut : std::uint8_t { none, segment, merge };  // merge: halve the closed segments, then begin one

  void begin_phase(profile::PhaseIndex index);
  // `progress` accesses into the phase: whether a segment ends here.
  Cut progressed(std::uint64_t progress);
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
  Phase* phase_ = nullptr;
  std::uint64_t length_ = 0;  // of a segment while the cuts are being found
};

}  // namespace terrace::runtime
