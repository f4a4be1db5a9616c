// SPDX-License-Identifier: Apache-2.0
// Divides the run of a program without visible calls and loops into fixed intervals of time, as phases. The
// agent's page monitor feeds it.
//
// The main loop begins when two successive intervals used the same data in similar proportions; each interval is
// then an iteration of one phase. The loop ends when the program has used other data for several intervals, and
// detection starts anew. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "runtime/phase_source.hpp"

namespace terrace::runtime {

// Name of such a loop.
inline constexpr const char* k_intervals_loop = "(intervals)";

class IntervalPhases {
 public:
  static constexpr double k_min_similarity = 0.8;      // of two successive intervals, for a loop to begin
  static constexpr double k_other_data = 0.5;          // below that similarity an interval used other data
  static constexpr std::uint32_t k_max_deviating = 2;  // successive intervals with other data that end the loop

  struct Interval {
    double seconds = 0;
    // Bytes used, by the name that objects allocated at the same call site share.
    std::map<std::string, double> used;
  };

  // Returns what the end of an interval means for the phases. An interval without accesses begins no loop.
  [[nodiscard]] PhaseBoundary on_interval_end(const Interval& interval);
  [[nodiscard]] bool in_loop() const { return in_loop_; }

  // Returns the share of the accesses of two intervals that is to the same data, [0, 1].
  [[nodiscard]] static double similarity(const Interval& one, const Interval& other);

 private:
  std::optional<Interval> previous_;  // outside of a loop
  Interval typical_;                  // of the loop: its first two intervals together
  bool in_loop_ = false;
  std::uint32_t num_deviating_ = 0;  // successive intervals that used other data
  std::uint32_t intervals_ = 0;      // before the loop began
};

}  // namespace terrace::runtime
