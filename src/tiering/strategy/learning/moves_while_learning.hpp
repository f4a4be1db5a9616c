// Early moves (early_moves.hpp) of a running program: when what was seen is looked at, and what is asked for.
#pragma once

#include <optional>

#include "strategy/learning/early_moves.hpp"
#include "strategy/learning/payback.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

class MovesWhileLearning {
 public:
  // Borrows both: they must outlive it.
  MovesWhileLearning(const Context& context, const Payback& payback) : context_(context), payback_(payback) {}
  // True where something was asked for.
  bool profiled(const StretchProfiled& event, Requests& requests);

 private:
  const Context& context_;
  const Payback& payback_;
  std::optional<EarlyMoves> early_;
  Seconds looked_;  // when a stretch was last looked at
};

}  // namespace terrace::strategy
