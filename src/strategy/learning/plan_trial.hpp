// Tries a plan of a found loop where the clock is exact: iterations under the plan are compared with iterations
// before it, and a plan that makes them slower is withdrawn. Real clocks need more than that (proof/guarded.hpp).
//
// Iterations may differ although the clock is exact, so the mean of 1, 2, 4, ... iterations under the plan is
// compared with the mean of as many before it. A plan that is behind is withdrawn where moving everything back
// pays in as many iterations as the loop has made so far; the plan's moves were only made where the gain was
// expected to pay for both ways (payback.hpp).
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/identifiers.hpp"
#include "core/units.hpp"

namespace terrace::strategy {

class PlanTrial {
 public:
  // Another loop: nothing is known of its iterations.
  void begin_loop() { *this = {}; }
  // Counts an iteration without a plan that nothing disturbed: no samples, no moves.
  void add_before(Seconds time);
  [[nodiscard]] bool can_compare() const { return !before_.empty(); }
  // A plan is adopted. `places`: of each chunk, before anything moves for it. A plan that replaces another one
  // that is on trial keeps the places before that one.
  void adopt(std::vector<PlaceId> places);
  // Everything is where the plan has it: iterations that begin from now on count.
  void arrive() { has_arrived_ = true; }
  // The plan is no longer judged.
  void settle() { is_on_trial_ = false; }
  [[nodiscard]] bool is_on_trial() const { return is_on_trial_; }
  // Returns what the iterations since the plan was adopted took less than as many before it, moves and all.
  [[nodiscard]] Seconds gained() const { return gained_; }
  // Counts an iteration under the plan. Returns what an iteration takes longer than before; 0 where the plan is
  // not behind, or it is not the time to compare.
  [[nodiscard]] Seconds add_under_plan(Seconds time);
  [[nodiscard]] const std::vector<PlaceId>& places_before() const { return places_; }

 private:
  static constexpr std::uint32_t k_max_iterations = 64;  // on each side; the plan is settled then

  std::deque<Seconds> before_;  // the newest last
  std::vector<PlaceId> places_;
  bool is_on_trial_ = false;
  bool has_arrived_ = false;
  Seconds usual_;            // of an iteration before, on average
  Seconds gained_;           // since adoption
  std::uint32_t count_ = 0;  // iterations under the plan
  Seconds total_;            // of them
};

}  // namespace terrace::strategy
