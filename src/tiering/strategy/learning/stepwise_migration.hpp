// SPDX-License-Identifier: Apache-2.0
// Migrates data to a plan's placement in steps, for LearningStrategy. Each step requests the groups of moves, in
// order of gain (best_first.hpp), that pay and that the run may risk by then (payback_model.hpp).
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "strategy/learning/best_first.hpp"
#include "strategy/learning/move_gain_predictor.hpp"
#include "strategy/learning/payback_model.hpp"

namespace terrace::strategy {

class StepwiseMigration {
 public:
  // Requires: `context` and `payback` outlive this.
  StepwiseMigration(const Context& context, const PaybackModel& payback) : context_(context), payback_(payback) {}

  // Sets the problem by which gains are predicted, and drops the groups.
  void set_problem(model::Problem problem, std::vector<std::uint32_t> items_by_chunk) {
    gains_ = std::make_unique<MoveGainPredictor>(std::move(problem), std::move(items_by_chunk));
    groups_.clear();
  }
  void reset() {
    gains_.reset();
    groups_.clear();
  }
  // Returns the moves as ordered groups. take_cost() returns the processor time of the ordering.
  [[nodiscard]] std::vector<MoveGroup> order_moves(std::span<const ActiveMove> moves, const PendingMoves& pending);
  [[nodiscard]] Seconds take_cost() { return gains_ ? gains_->take_cost() : Seconds{}; }
  // Begins a plan. `groups`: its moves, as order_moves() returned them.
  void begin(std::vector<MoveGroup> groups) {
    groups_ = std::move(groups);
    next_ = 0;
  }
  [[nodiscard]] bool is_done() const { return next_ >= groups_.size(); }
  // Returns the moves of the next step with their total price; without moves if none pays yet. `gained`: the
  // plan's net gain so far (PlanTrial::gained).
  [[nodiscard]] MoveGroup take_step(const PendingMoves& pending, Seconds gained);

 private:
  const Context& context_;
  const PaybackModel& payback_;
  std::unique_ptr<MoveGainPredictor> gains_;
  std::vector<MoveGroup> groups_;
  std::size_t next_ = 0;
};

}  // namespace terrace::strategy
