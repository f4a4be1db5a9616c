// SPDX-License-Identifier: Apache-2.0
// Implements LearningStrategy's migration in steps: orders a plan's moves, decides from when on they pay, and
// requests those that pay and may be risked. See learning_strategy.hpp.
#include <algorithm>
#include <limits>
#include <utility>

#include "strategy/learning/learning_strategy.hpp"

namespace terrace::strategy {

// Orders the moves of the first plan concurrently with the program, before the plan is adopted.
void LearningStrategy::order_first_moves(Requests& requests) {
  if (pending_plans_.empty() || plan_ || !can_step(pending_plans_.front().plan)) return;
  auto plan = make_executor(pending_plans_.front().plan, requests);
  pending_plans_.front().groups =
      steps_.order_moves(plan.moves_to_placement(requests, 0), requests.pending_moves());
  const auto cost = steps_.take_cost();
  for (auto& pending : pending_plans_) pending.at += cost;
  context_.clock->charge_background_work(cost);
}

// A plan can be applied in steps if nothing moves within an iteration: then each part of its moves is useful
// alone.
bool LearningStrategy::can_step(const Plan& plan) const {
  return must_try() && plan.moves.empty() && !was_reprofiled_;
}

// Returns the min number of iterations of the loop for the first step of the plan. A plan that replaces another
// one is ordered only if all of it pays, because ordering takes time of the program.
double LearningStrategy::steps_pay_after(PendingPlan& pending, std::span<const ActiveMove> moves,
                                         Requests& requests) {
  if (!pending.groups) {
    const auto iterations = pays_after(pending.plan, moves);
    if (payback_.num_iterations() < iterations) return iterations;
    pending.groups = steps_.order_moves(moves, requests.pending_moves());
    context_.clock->charge(steps_.take_cost());
  }
  if (pending.groups->empty()) return std::numeric_limits<double>::infinity();
  const auto& first = pending.groups->front().price;
  const auto gained = trial_.is_on_trial() ? trial_.gained() : Seconds{};
  if (payback_.pays(first) && payback_.may_risk(first, gained)) return 0;
  return std::max(payback_.pays_after(first), payback_.num_iterations() + 1);
}

// Requests those of the plan's moves that pay and may be risked now.
void LearningStrategy::request_step(std::uint32_t iteration, Requests& requests) {
  auto moves = take_step(requests);
  is_migrating_ = !steps_.is_done();
  if (!moves.empty()) {
    change_detector_.reset();
    plan_->request(std::move(moves), iteration + 1, requests);
  }
  if (!requests.is_idle())
    last_arrival_ = requests.last_ticket();
  else if (!change_detector_.is_watching())
    change_detector_.start_watching();
}

std::vector<ActiveMove> LearningStrategy::take_step(Requests& requests) {
  auto [moves, price] = steps_.take_step(requests.pending_moves(), trial_.gained());
  trial_.begin_step(price);
  return moves;
}

// Returns the min number of iterations of the loop for the plan; 0 for a plan without moves.
double LearningStrategy::pays_after(const Plan& plan, std::span<const ActiveMove> moves) const {
  if (moves.empty() && plan.moves.empty()) return 0;
  if (given_ && !is_improved_) return 0;
  const bool betters = plan_ && !was_reprofiled_;
  const auto before = betters ? plan_->plan().given().predicted : plan.predicted_before;
  return payback_.pays_after(before - plan.predicted, moves, can_step(plan));
}

}  // namespace terrace::strategy
