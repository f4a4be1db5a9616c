// Early moves (early_move_selector.hpp) of a running program: when what was seen is looked at, and what is asked for.
#pragma once

#include <optional>

#include "strategy/learning/early_move_selector.hpp"
#include "strategy/learning/payback_model.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

class EarlyMover {
 public:
  // Borrows both: they must outlive it.
  EarlyMover(const Context& context, const PaybackModel& payback) : context_(context), payback_(payback) {}
  // True where something was asked for.
  bool on_segment(const SegmentProfiled& event, Requests& requests);

 private:
  const Context& context_;
  const PaybackModel& payback_;
  std::optional<EarlyMoveSelector> early_;
  Seconds looked_;  // when a segment was last looked at
};

}  // namespace terrace::strategy
