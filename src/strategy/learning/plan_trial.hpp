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
  // Begins another loop: forgets the iterations of the one before.
  void begin_loop() { *this = {}; }
  // Counts an undisturbed iteration (no plan, no samples, no moves) as a baseline.
  void add_before(Seconds time);
  [[nodiscard]] bool can_compare() const { return !before_.empty(); }
  // Begins the trial of a plan. `places`: of each chunk, before the plan's moves. If another plan is on trial,
  // its places are kept.
  void adopt(std::vector<PlaceId> places);
  // Begins the comparison: all moves of the plan are done.
  void arrive() { has_arrived_ = true; }
  // Ends the trial without a withdrawal.
  void settle() { is_on_trial_ = false; }
  [[nodiscard]] bool is_on_trial() const { return is_on_trial_; }
  // Returns the time saved since adoption against the mean baseline iteration, including iterations with moves
  // under way.
  [[nodiscard]] Seconds gained() const { return gained_; }
  // Counts an iteration under the plan. Returns by how much the mean iteration is slower than before; 0 if it is
  // not, or if no comparison is due.
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
