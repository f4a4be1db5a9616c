// Brings data to where a plan of a found loop has it in steps. Each step requests the moves that pay and that may
// be risked by then (payback.hpp), the best first (best_first.hpp).
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
#include "strategy/learning/move_gains.hpp"
#include "strategy/learning/payback.hpp"

namespace terrace::strategy {

class GatheringSteps {
 public:
  // Both outlive it.
  GatheringSteps(const Context& context, const Payback& payback) : context_(context), payback_(payback) {}

  // What gains are looked up in from now on.
  void learn(model::Problem problem, std::vector<std::uint32_t> items_by_chunk) {
    gains_ = std::make_unique<MoveGains>(std::move(problem), std::move(items_by_chunk));
    groups_.clear();
  }
  void forget() {
    gains_.reset();
    groups_.clear();
  }
  // Returns the moves in the order of the steps. What that takes is asked for by take_cost().
  [[nodiscard]] std::vector<MoveGroup> order(std::span<const ActiveMove> moves, const UnderWay& under_way);
  [[nodiscard]] Seconds take_cost() { return gains_ ? gains_->take_cost() : Seconds{}; }
  // A plan whose moves these are is adopted.
  void begin(std::vector<MoveGroup> groups) {
    groups_ = std::move(groups);
    next_ = 0;
  }
  [[nodiscard]] bool is_done() const { return next_ >= groups_.size(); }
  // Returns the moves to request now. `gained`: by the plan so far.
  [[nodiscard]] std::vector<ActiveMove> take(const UnderWay& under_way, Seconds gained);

 private:
  const Context& context_;
  const Payback& payback_;
  std::unique_ptr<MoveGains> gains_;
  std::vector<MoveGroup> groups_;
  std::size_t next_ = 0;
};

}  // namespace terrace::strategy
