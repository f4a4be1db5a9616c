// Phases of a program of which nobody sees calls or loops: fixed intervals of time. The main loop begins when two
// intervals in a row used the same data alike, and each interval then is an iteration of one phase. When the
// program has used other data for a while the loop is over, and another one is looked for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "runtime/phase_source.hpp"

namespace terrace::runtime {

class IntervalPhases {
 public:
  static constexpr double k_alike = 0.8;        // of what was used, in the same data, for a loop to begin
  static constexpr double k_other = 0.5;        // less than that for it to be over,
  static constexpr std::uint32_t k_others = 2;  // in so many intervals running

  struct Interval {
    double seconds = 0;
    // Bytes used, by the name that objects made at the same place of the program share.
    std::map<std::string, double> used;
  };

  // What the end of an interval means. An interval in which nothing was used says nothing, and begins nothing.
  [[nodiscard]] Boundary ended(const Interval& interval);
  [[nodiscard]] bool in_loop() const { return in_loop_; }

  // The share of what two intervals used that is in the same data, [0, 1].
  [[nodiscard]] static double likeness(const Interval& one, const Interval& other);

 private:
  std::optional<Interval> before_;  // while a loop is looked for
  Interval typical_;                // of the loop: its first two intervals together
  bool in_loop_ = false;
  std::uint32_t others_ = 0;     // intervals running that used other data
  std::uint32_t intervals_ = 0;  // that passed before the loop began
};

}  // namespace terrace::runtime
