// Whether a plan for data over a file is better than what touches say: by turns it is in force and not, and a turn
// lasts until the program's threads have worked so much. The same work takes less time where the placement is
// better.
//
// Of each turn but the first only the second half counts: what the turn before left in memory has to go first. A
// plan that clearly loses is undone after a turn each, one that loses a little after two, where it lost both
// times.
#pragma once

#include <array>
#include <optional>

#include "core/units.hpp"

namespace terrace::strategy {

class SteeringTrial {
 public:
  static constexpr Seconds k_turn{1};     // of work; of turns whose first half does not count twice as much
  static constexpr double k_clear = 0.3;  // after a turn each so much is a loss,
  static constexpr double k_noise = 0.1;  // and in the end so much, both times
  static constexpr double k_rest = 16;    // turns' times until it is tried again; twice as many each time

  // The clock, and what all threads have worked until then.
  void note(Seconds now, Seconds worked) noexcept;
  [[nodiscard]] bool is_in_force() const noexcept { return !undone_ && turn_ % 2 == 0; }
  // It lost: it is not in force any more.
  [[nodiscard]] bool is_undone() const noexcept { return undone_; }
  // Share of the time that the plan saved the last time it was tried; below 0: a loss. None: not yet.
  [[nodiscard]] std::optional<double> gain() const noexcept { return gain_; }

 private:
  static constexpr int k_turns = 4;  // with the plan, without, with, without; then it rests
  struct Point {
    Seconds now{}, worked{};
  };
  void judge() noexcept;

  std::optional<Point> counted_;  // what comes counts from here on, or the rest began
  bool settled_ = false;          // else it is the first half of a turn, or the program has just begun
  int turn_ = 0;
  double rest_ = k_rest;
  Seconds resting_{};
  std::array<double, 2> pace_{};  // seconds of the clock for each of work: with, without
  double first_ = 0;              // what it gained in the first two turns
  bool undone_ = false;
  std::optional<double> gain_;
};

}  // namespace terrace::strategy
