// SPDX-License-Identifier: Apache-2.0
// Tracks the program's position: iteration of the main loop and phase in it. Program feeds it with phase
// boundaries of any source, and the configurations read it. An iteration begins when the loop's first phase begins
// again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.hpp"

namespace terrace::runtime {

class PhaseTracker {
 public:
  void begin_loop(std::string_view name) {
    in_loop_ = true;
    name_ = name;
    sequence_.clear();
    first_.clear();
    iteration_ = 0;
  }
  void end_loop() { in_loop_ = false; }

  // Advances to `phase`. Requires: in_loop().
  void on_marker(std::string_view phase) {
    begins_iteration_ = first_.empty() || phase == first_;
    if (first_.empty()) {
      first_ = phase;
    } else if (begins_iteration_) {
      ++iteration_;
      sequence_.clear();
    }
    sequence_.emplace_back(phase);
  }

  [[nodiscard]] bool in_loop() const { return in_loop_; }
  [[nodiscard]] bool in_phase() const { return in_loop_ && !sequence_.empty(); }
  [[nodiscard]] const std::string& loop() const { return name_; }
  [[nodiscard]] std::uint32_t iteration() const { return iteration_; }
  // Returns whether the phase is the first of its iteration.
  [[nodiscard]] bool begins_iteration() const { return begins_iteration_; }
  [[nodiscard]] PhaseIndex index() const { return static_cast<PhaseIndex>(sequence_.size() - 1); }
  [[nodiscard]] const std::string& phase() const { return sequence_.back(); }

 private:
  bool in_loop_ = false;
  bool begins_iteration_ = false;
  std::string name_;
  std::string first_;
  std::vector<std::string> sequence_;  // of this iteration so far
  std::uint32_t iteration_ = 0;
};

}  // namespace terrace::runtime
