// Early moves (early_moves.hpp) of a running program: when what was seen is looked at, and what is asked for.
#pragma once

#include <optional>

#include "strategy/learning/early_moves.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

class MovesWhileLearning {
 public:
  explicit MovesWhileLearning(const Context& context) : context_(context) {}
  // True where something was asked for.
  bool profiled(const StretchProfiled& event, Requests& requests);

 private:
  const Context& context_;
  std::optional<EarlyMoves> early_;
  Seconds looked_;  // when a stretch was last looked at
};

}  // namespace terrace::strategy
