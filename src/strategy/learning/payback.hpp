// Decides whether learning a loop, and moving data for a plan of it, is expected to pay: both cost time now, and
// gain time only in iterations that are still to come.
//
// How many come is unknown. A loop that has made n iterations is expected to make n more (the estimate of a
// quantity that may have any scale: Gott, "Implications of the Copernican principle", Nature 363, 1993). A loop
// that the program marked is learned and planned in any case: the user said that it is the main one.
//
// What sampling costs is bounded by a share of the run: of what has passed and of what the loop is expected to
// take. What was spent counts, so that loops that are learned again and again cannot exceed it. The machine's
// copier prices (machine/copier_price.hpp) say what moves cost; a plan that moves data has to gain twice that,
// which also pays for moving it back.
//
// All that is used (times of iterations, prices) is known on real machines, too. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>

#include "strategy/strategy.hpp"

namespace terrace::strategy {

class Payback {
 public:
  // `context` outlives it.
  explicit Payback(const Context& context);

  void loop_begun(const LoopBegun& event);
  // `was_learned`: the iteration that has ended was profiled.
  void iteration_begins(std::uint32_t iteration, bool was_learned);

  // Returns whether this loop was found. Only the first time that a found loop begins is it said to be.
  [[nodiscard]] bool is_found() const { return is_found_; }
  // Returns whether the iteration that begins may be profiled for a plan.
  [[nodiscard]] bool may_learn() const;
  // Returns whether a plan that gains so much in each iteration pays for these moves.
  [[nodiscard]] bool pays(Seconds gain, std::span<const ActiveMove> moves) const;
  // A plan did not pay: the loop may be learned again when it has made twice as many iterations.
  void put_off() { next_ = 2 * std::max(seen(), 1.0); }

  // Returns what the moves cost the program, at most: the mover's time, and the stalls of a running thread.
  [[nodiscard]] Seconds cost_of(std::span<const ActiveMove> moves) const;

 private:
  [[nodiscard]] double seen() const { return static_cast<double>(turns_before_) + iteration_; }
  [[nodiscard]] Seconds cost_of(ChunkId chunk, PlaceId from, PlaceId to) const;
  [[nodiscard]] Seconds cheapest_move() const;

  const Context& context_;
  double most_gain_;                          // share of the time that any placement on this machine can save
  double learning_;                           // what profiling adds to an iteration, as a share of it
  Seconds spent_;                             // on profiling, in all loops so far
  std::set<std::string, std::less<>> found_;  // names of loops
  bool is_found_ = false;                     // this loop
  double turns_before_ = 0;
  std::uint32_t iteration_ = 0;
  double next_ = 0;  // iterations before it may be learned again
  Seconds begun_;    // this iteration
  Seconds usual_;    // of the last iteration that was not profiled; 0: there is none
};

}  // namespace terrace::strategy
