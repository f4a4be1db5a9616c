// SPDX-License-Identifier: Apache-2.0
// Decides whether learning a loop, and moving data for a plan of it, is expected to pay: both cost time now, and
// gain time only in future iterations. LearningStrategy queries it when iterations begin and before each step of a
// plan.
//
// Their number is unknown. A loop that has made n iterations is expected to make n more (the estimate of a
// quantity that may have any scale: Gott, "Implications of the Copernican principle", Nature 363, 1993). That
// holds for loops that the program marked, too, where their plans are tried (learning_strategy.hpp): a marker says
// which loop is the main one, not how long it lasts. Elsewhere marked loops are learned and planned in any case.
//
// Sampling may cost a fixed share (k_max_learning) of the run: of the time that has passed plus the time
// that the loop is expected to take. Sampling cost already spent counts, so that loops that are learned
// repeatedly stay within the share. A plan needs one sample per chunk on average. A loop with short
// iterations is profiled for several iterations (iterations()). If all samples exceed the share, they are
// thinned (thinning()), as long as one sample per chunk remains.
//
// A plan must gain twice what its moves cost the program, which also pays for moving everything back. The
// mover runs concurrently: the program pays (machine/copier_price.hpp) stalls, the bandwidth of the copies,
// and system calls and remapping if no core is free for them. Until the moves are done nothing is gained.
//
// The loop may end before the moves have paid. It makes r more iterations with probability n / (n + r), so
// that a plan with cost c and gain g an iteration loses with probability c / (n g + c), and at most c. The
// expected loss is bounded by a share of the run so far (k_max_risk). A step of a plan may cost that share
// plus the measured gain of the steps before it. It may cost more if it loses with a probability of at most
// k_max_chance and its expected loss stays within that budget.
//
// All that is used (times of iterations, prices) is known on real machines, too. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "strategy/learning/best_first.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

class PaybackModel {
 public:
  // `context` outlives it. `marked_must_pay`: loops that the program marked have to pay, too.
  explicit PaybackModel(const Context& context, bool marked_must_pay = false);

  void on_loop_begin(const LoopBegun& event);
  // `was_learned`: the iteration that has ended was profiled.
  void on_iteration_begin(std::uint32_t iteration, bool was_learned);

  // Returns whether this loop was detected. A detected loop is reported as such only the first time that it
  // begins.
  [[nodiscard]] bool is_detected() const { return is_detected_; }
  // Returns whether learning this loop, and moving data for it, has to pay.
  [[nodiscard]] bool must_pay() const { return is_detected_ || marked_must_pay_; }
  // Returns the time of the last iteration less its sampling cost, if the clock is exact; 0 before the first
  // iteration of this loop has ended.
  [[nodiscard]] Seconds last_time() const { return last_time_ - last_sampling_; }
  // Returns whether profiling may begin with this iteration. It lasts iterations() iterations, with samples
  // thinned by thinning().
  [[nodiscard]] bool may_profile();
  [[nodiscard]] std::uint32_t iterations() const { return iterations_; }
  [[nodiscard]] double thinning() const { return thinning_; }
  // Return whether a plan with that gain an iteration pays for these moves, and after how many iterations of the
  // loop.
  [[nodiscard]] bool pays(Seconds gain, std::span<const ActiveMove> moves) const {
    return num_iterations() >= pays_after(gain, moves);
  }
  [[nodiscard]] double pays_after(Seconds gain, std::span<const ActiveMove> moves, bool in_steps = false) const;
  // Return whether moves of that price pay if the loop makes as many more iterations as it has made, and after
  // how many they would.
  [[nodiscard]] bool pays(const MovePrice& price) const { return num_iterations() >= pays_after(price); }
  [[nodiscard]] double pays_after(const MovePrice& price) const;
  // Returns whether the next step of a plan that has gained so much may have that price.
  [[nodiscard]] bool may_risk(const MovePrice& price, Seconds gained) const;
  // Returns how many iterations of this loop have begun, including those before it was detected.
  [[nodiscard]] double num_iterations() const { return static_cast<double>(iterations_before_) + iteration_; }
  // Returns whether moves that end a loss of that size an iteration pay.
  [[nodiscard]] bool pays_to_end(Seconds loss, std::span<const transfer::TransferRequest> moves) const;
  // Postpones learning until the loop has made twice as many iterations, because a plan did not pay.
  void postpone() { retry_at_ = 2 * std::max(num_iterations(), 1.0); }

  // For moves before there is a plan (early_move_selector.hpp). cost_there_and_back() returns the gain that one
  // move has to reach; early_budget() returns the max net loss of all of them, infinite if the loop need not pay.
  [[nodiscard]] Seconds cost_there_and_back(ChunkId chunk, PlaceId from, PlaceId to) const;
  [[nodiscard]] Seconds early_budget() const;

  // Returns what the moves cost the program.
  [[nodiscard]] Seconds cost_of(std::span<const ActiveMove> moves) const;
  [[nodiscard]] Seconds cost_of(const ActiveMove& move) const;

 private:
  struct Chunks {               // of the domain
    std::uint64_t changes = 0;  // of the table, when this was read
    double count = 0;
    Seconds cheapest_move;  // cost of promoting and demoting the cheapest chunk in slow memory
    Seconds scan;           // time to scan their page references, once per profiled iteration
  };
  [[nodiscard]] Seconds cost_of(ChunkId chunk, PlaceId from, PlaceId to) const;
  [[nodiscard]] const Chunks& chunks();
  [[nodiscard]] bool may_profile_first();  // may_profile() in the first iteration of a marked loop
  void extend_profiling();                 // extends iterations(), once the first one's time is known

  const Context& context_;
  bool marked_must_pay_;
  double max_gain_;               // max share of the time that a placement on this machine can save
  double sampling_price_;         // modelled cost of all samples, as a share of the time
  double profiling_share_;        // the same, as measured for this loop
  double thinning_ = 1;           // of samples in the iterations to profile
  std::uint32_t iterations_ = 1;  // number of iterations to profile
  Seconds spent_;                 // total cost of profiling, in all loops so far
  std::set<std::string, std::less<>> detected_loops_;  // names
  bool is_detected_ = false;                           // this loop
  double iterations_before_ = 0;
  std::uint32_t iteration_ = 0;
  double retry_at_ = 0;  // iterations before the loop may be profiled again
  Seconds begun_;        // this iteration
  Seconds last_time_;    // of the iteration before
  Seconds last_sampling_;
  // Time of an iteration without profiling: of the last unprofiled one, of those before the loop was detected, or
  // of the first profiled one less its sampling cost. 0: unknown.
  Seconds unprofiled_time_;
  std::optional<Chunks> chunks_;
};

}  // namespace terrace::strategy
