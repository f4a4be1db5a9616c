// SPDX-License-Identifier: Apache-2.0
// Detects that the program no longer behaves as in the profile of its plan. LearningStrategy reports phases and
// iterations to it while a plan is in force, and profiles again when it reports a change. Unimem profiles again
// when a phase takes over 10 % more or less time than before (Wu, Huang, Li, SC'17, section 3.2). Terrace adds
// three conditions:
//
// - The phase has a usual time: two consecutive iterations agreed on it within that bound, counted from the end of
//   the plan's initial moves. A phase whose time alternates never has one, and never counts.
// - Its time deviates by over 10 % from the usual one, and by over 1 % of the iteration: noise of a short phase is
//   not worth a new plan.
// - It deviates in as many consecutive iterations as the patience, at first two. If a new plan was valid for less
//   than eight times the patience, the patience doubles, so that alternating programs are not planned again and
//   again. If the plan lasted, the patience is two again.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.hpp"
#include "profile/profile.hpp"

namespace terrace::strategy {

class PhaseChangeDetector {
 public:
  struct PhaseChange {
    PhaseIndex phase = 0;
    std::string name;
    Seconds usual;
    Seconds now;
    std::uint32_t iterations = 0;  // consecutive iterations that deviate
  };

  // Forgets everything, because another loop has begun.
  void reset();
  // Begins to compare phases. Requires: all initial moves of the plan in force are done.
  void start_watching();
  void on_phase_end(PhaseIndex phase, std::string_view name, Seconds time);
  // Returns the phase that has deviated for as many iterations as patience demands, and stops watching then.
  std::optional<PhaseChange> on_iteration_end();
  [[nodiscard]] bool is_watching() const { return is_watching_; }

 private:
  struct Phase {
    std::string name;
    Seconds last;                  // in the iteration before
    std::optional<Seconds> usual;  // none until two iterations agreed
    std::uint32_t varied = 0;      // consecutive iterations that deviate
  };
  struct Ended {
    std::string name;
    Seconds time;
  };
  void compare(Phase& phase, Seconds now, Seconds iteration) const;
  PhaseChange report_change(std::size_t phase, Seconds now);

  std::vector<Phase> phases_;  // by position in the iteration
  std::vector<Ended> now_;     // of this iteration, by position
  bool is_watching_ = false;
  std::uint32_t plans_ = 0;       // that were in force in this loop
  std::uint32_t patience_ = 0;    // iterations; 0 before the first plan
  std::uint32_t iterations_ = 0;  // under the plan in force
};

}  // namespace terrace::strategy
