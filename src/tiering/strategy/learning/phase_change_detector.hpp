// Whether the program has begun to do something else than its plan was made for. Unimem profiles again when a
// phase takes over 10 % more or less than it did (Wu, Huang, Li, SC'17, section 3.2); what is ours is when that
// counts:
//
//   settled   A phase has a usual time once two iterations running agree on it within that bound, counted from
//             when everything is where the plan has it. A phase that takes one time and another by turns never
//             has one, and never counts.
//   varies    It takes over 10 % more or less than usual, and that is over 1 % of the iteration: noise of a short
//             phase is nothing to plan for.
//   patience  It does so two iterations running. Where a plan that was made again did not last eight times the
//             patience, patience doubles, so that a program that comes and goes is left alone; where it lasted, it
//             is two again.
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
    std::uint32_t iterations = 0;  // running
  };

  // Another loop: nothing is known of it.
  void reset();
  // A plan is in force, and everything is where it has it: phases settle, and are watched.
  void start_watching();
  void on_phase_end(PhaseIndex phase, std::string_view name, Seconds time);
  // What has varied for as long as patience lasts; it is then watched no more.
  std::optional<PhaseChange> on_iteration_end();
  [[nodiscard]] bool is_watching() const { return is_watching_; }

 private:
  struct Phase {
    std::string name;
    Seconds last;                  // in the iteration before
    std::optional<Seconds> usual;  // nothing until two iterations agreed
    std::uint32_t varied = 0;      // iterations running
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
