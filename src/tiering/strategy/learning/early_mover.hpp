// SPDX-License-Identifier: Apache-2.0
// Applies early moves (early_move_selector.hpp) to the running program: decides which profiled segments to
// evaluate, and requests the moves. LearningStrategy calls it during the first iteration.
//
// Not thread-safe.
#pragma once

#include <optional>

#include "strategy/learning/early_move_selector.hpp"
#include "strategy/learning/payback_model.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

class EarlyMover {
 public:
  // Borrows both; they outlive this.
  EarlyMover(const Context& context, const PaybackModel& payback) : context_(context), payback_(payback) {}
  // Evaluates a profiled segment. Returns whether moves were requested.
  bool on_segment(const SegmentProfiled& event, Requests& requests);

 private:
  const Context& context_;
  const PaybackModel& payback_;
  std::optional<EarlyMoveSelector> early_;
  Seconds looked_;  // time of the last evaluation
};

}  // namespace terrace::strategy
