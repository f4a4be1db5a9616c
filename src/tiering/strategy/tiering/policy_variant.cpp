// SPDX-License-Identifier: Apache-2.0
// Runs a policy in a program's main loop: lets it decide once an interval is over, and requests its moves. See
// policy_variant.hpp.
#include "strategy/tiering/policy_variant.hpp"

#include "core/error.hpp"
#include "strategy/tiering/first_fit.hpp"
#include "strategy/tiering/fitting_requests.hpp"

namespace terrace::strategy {
namespace {

class PolicyStrategy final : public Strategy {
 public:
  PolicyStrategy(std::unique_ptr<Policy> policy, const Context& context)
      : policy_(std::move(policy)), needs_(policy_->needs()), context_(context) {}

  [[nodiscard]] PlacementExtent initial_placement(const observe::Object& object, std::uint32_t,
                                                  std::uint32_t left) override {
    return first_fit(context_, object, left).value_or(PlacementExtent{context_.home(), left});
  }
  void on_event(const StrategyEvent& event, Requests& requests) override {
    if (const auto* progress = std::get_if<Progressed>(&event)) decide_if_due(*progress, requests);
    if (std::holds_alternative<LoopBegun>(event)) watching_ = false;
  }

 private:
  // Lets the policy decide once an interval is over and its last moves are done.
  void decide_if_due(const Progressed& event, Requests& requests) {
    auto& watched = *context_.interval_collector;
    auto& clock = *context_.clock;
    if (!watching_) {
      watching_ = true;
      decided_ = clock.now();
      static_cast<void>(watched.take());
      static_cast<void>(watched.take_cost());
    }
    clock.charge(static_cast<double>(watched.take_faults()) * needs_.fault_cost + watched.take_cost());
    if (clock.now() - decided_ < needs_.interval || !requests.is_idle()) return;
    PolicyChoice choice;
    policy_->decide(watched.take(), tiers_of(context_), choice);
    decided_ = clock.now();
    request_fitting_moves(choice.moves, context_, event.phase, event.iteration, requests);
    watched.protect(choice.protect);
  }

  std::unique_ptr<Policy> policy_;
  PolicyNeeds needs_;
  Context context_;
  Seconds decided_;        // time of the last decision
  bool watching_ = false;  // since the loop began
};

}  // namespace

std::unique_ptr<Strategy> start_policy(std::unique_ptr<Policy> policy, const Context& context) {
  if (const auto needs = policy->needs(); needs.touches != 0 || needs.faults)
    throw Error(
        Code::unsupported,
        "this policy needs touches or faults, which a processor does not report; use it with terrace lab gpu");
  return std::make_unique<PolicyStrategy>(std::move(policy), context);
}

}  // namespace terrace::strategy
