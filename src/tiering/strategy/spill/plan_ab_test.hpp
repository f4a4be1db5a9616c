// Whether a plan for data over a file is better than what touches say: by turns it is not in force and in force,
// and a turn lasts until the program's threads have worked so much. The same work takes less time where the
// placement is better.
//
// Of each turn only the second half counts: what the turn before left in memory has to go first. Without the plan
// that half begins when touches have come round, as until then they say little: after a plan that is wrong that
// takes longest. A plan that clearly loses is undone after a turn each, one that loses a little after two, where
// it lost both times.
#pragma once

#include <array>
#include <optional>

#include "core/units.hpp"

namespace terrace::strategy {

class PlanAbTest {
 public:
  static constexpr Seconds k_turn{1};      // of work, each half
  static constexpr double k_patience = 6;  // times that, for touches to come round
  static constexpr double k_clear = 0.3;   // after a turn each so much is a loss,
  static constexpr double k_noise = 0.1;   // and in the end so much, both times
  static constexpr double k_rest = 16;     // turns' times until it is tried again; twice as many each time

  // The time that threads took until now, what they have worked in it, and whether their touches have come round.
  void note(Seconds taken, Seconds worked, bool known) noexcept;
  [[nodiscard]] bool is_in_force() const noexcept { return !undone_ && turn_ % 2 == 1; }
  // It lost: it is not in force any more.
  [[nodiscard]] bool is_undone() const noexcept { return undone_; }
  // Share of the time that the plan saved the last time it was tried; below 0: a loss. None: not yet.
  [[nodiscard]] std::optional<double> gain() const noexcept { return gain_; }

 private:
  static constexpr int k_turns = 4;  // without the plan, with it, without, with; it rests in the last one
  struct Point {
    Seconds taken{}, worked{};
  };
  void judge() noexcept;

  std::optional<Point> counted_;  // where the half began, or the rest
  bool settled_ = false;          // it is the second half
  bool rests_ = false;
  int turn_ = 0;
  double rest_ = k_rest;
  Seconds resting_{};
  std::array<double, 2> pace_{};  // seconds for each of work: without, with
  double first_ = 0;              // what it gained in the first two turns
  bool undone_ = false;
  std::optional<double> gain_;
};

}  // namespace terrace::strategy
