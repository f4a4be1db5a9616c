// SPDX-License-Identifier: Apache-2.0
// Tests at run time whether a plan for out-of-core data is better than no plan: periods without and with the plan
// alternate (A/B test). PlanGuidedPolicy records the program's progress in it. A period lasts until the program's
// threads have done a fixed amount of work. The same work takes less time under the better placement.
//
// Only the second half of each period counts, because the period before determines what is in memory at first.
// Without the plan, that half begins once the histories of touches repeat, because until then they predict little;
// after a wrong plan that takes longest. A plan with a clear loss is undone after one period of each kind. A plan
// with a small loss is undone after two, if it lost both times.
//
// Not thread-safe.
#pragma once

#include <array>
#include <optional>

#include "core/units.hpp"

namespace terrace::strategy {

class PlanAbTest {
 public:
  static constexpr Seconds k_half_period{1};   // work of each half of a period
  static constexpr double k_max_settling = 6;  // max work until histories repeat, in k_half_period
  static constexpr double k_clear_loss = 0.3;  // a loss of that share is clear after one period of each kind
  static constexpr double k_noise = 0.1;       // smaller losses are noise, also in two periods of each kind
  static constexpr double k_pause = 16;        // pause until the next test, in periods; doubles each time

  // Records the total time that threads took until now, the work that they did in it, and whether their histories
  // repeat (`known`).
  void record(Seconds taken, Seconds worked, bool known) noexcept;
  [[nodiscard]] bool is_in_force() const noexcept { return !undone_ && period_ % 2 == 1; }
  // Returns whether the plan lost and is out of force for good.
  [[nodiscard]] bool is_undone() const noexcept { return undone_; }
  // Returns the share of the time that the plan saved in the last test, negative for a loss; none before the
  // first.
  [[nodiscard]] std::optional<double> gain() const noexcept { return gain_; }

 private:
  static constexpr int k_num_periods =
      4;  // periods of a test: without, with, without, with; then the plan stays in force
  struct Point {
    Seconds taken{}, worked{};
  };
  void judge() noexcept;

  std::optional<Point> begun_;   // where this half, or the pause, began
  bool is_second_half_ = false;  // this is the second half
  bool is_paused_ = false;       // pause between tests
  int period_ = 0;
  double pause_ = k_pause;
  Seconds pause_time_{};
  std::array<double, 2> time_per_work_{};  // seconds per second of work: without, with
  double first_gain_ = 0;                  // gain in the first two periods
  bool undone_ = false;
  std::optional<double> gain_;
};

}  // namespace terrace::strategy
