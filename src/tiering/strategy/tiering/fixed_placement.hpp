// SPDX-License-Identifier: Apache-2.0
// Defines placements that are fixed at allocation: they use no traffic, and nothing moves afterwards. The variants
// in static/ and runs that only record use them.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "strategy/planner.hpp"
#include "strategy/tiering/first_fit.hpp"

namespace terrace::strategy {

class FixedPlacement : public Planner {
 public:
  [[nodiscard]] bool needs_profile() const final { return false; }
};

// Strategy that only places new objects, by a function.
class FixedStrategy final : public Strategy {
 public:
  using Initial = std::function<PlacementExtent(const observe::Object& object, std::uint32_t left)>;
  explicit FixedStrategy(Initial initial) : initial_(std::move(initial)) {}
  [[nodiscard]] PlacementExtent initial_placement(const observe::Object& object, std::uint32_t,
                                                  std::uint32_t left) override {
    return initial_(object, left);
  }

 private:
  Initial initial_;
};

// Returns a strategy that allocates all data in the domain's home.
inline std::unique_ptr<Strategy> home_strategy(const Context& context) {
  return std::make_unique<FixedStrategy>([home = context.home()](const observe::Object&, std::uint32_t left) {
    return PlacementExtent{home, left};
  });
}

// Returns a strategy that allocates as the kernel would (first_fit.hpp). Requires: what the context points to
// outlives it.
inline std::unique_ptr<Strategy> first_fit_strategy(const Context& context) {
  return std::make_unique<FixedStrategy>([context](const observe::Object& object, std::uint32_t left) {
    return first_fit(context, object, left).value_or(PlacementExtent{context.home(), left});
  });
}

}  // namespace terrace::strategy
