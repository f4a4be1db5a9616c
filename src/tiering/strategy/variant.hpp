// SPDX-License-Identifier: Apache-2.0
// Defines what a user selects by name (--planner) to decide where data resides: planners, policies, static
// placements. The launcher and the runtime find them by that name. Each is one file in its folder. The build
// generates the table of them (cmake/Variants.cmake), so that a new file is a new variant.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strategy/policy.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

class Planner;

class Variant {
 public:
  virtual ~Variant() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Returns the planner that makes plans of profiles, or nullptr if the variant decides at run time only.
  [[nodiscard]] virtual const Planner* planner() const { return nullptr; }
  // Returns a new policy if the variant is one. Policies work in virtual time, where a collector provides what
  // they need.
  [[nodiscard]] virtual std::unique_ptr<Policy> policy() const { return nullptr; }
  // Returns whether the simulated machine runs fast memory as a cache of slow memory
  // (sim/engine/memory_cache.hpp).
  [[nodiscard]] virtual bool fast_memory_is_cache() const { return false; }
  // Returns whether the variant may fill each place completely.
  [[nodiscard]] virtual bool ignores_budget() const { return false; }
  [[nodiscard]] std::optional<PolicyNeeds> policy_needs() const {
    const auto made = policy();
    return made ? std::optional(made->needs()) : std::nullopt;
  }
  [[nodiscard]] bool is_simulation_only() const { return policy_needs().has_value() || fast_memory_is_cache(); }
  [[nodiscard]] virtual std::unique_ptr<Strategy> start(const Context& context) const = 0;
};

// The default of --planner.
inline constexpr std::string_view k_default_variant = "auto";

// Returns all variants: planners, then static placements, then policies, each sorted by name.
const std::vector<const Variant*>& variants();
// Returns the variant of that name. Throws Error{invalid} with the list of names if there is none.
const Variant& find_variant(std::string_view name);

}  // namespace terrace::strategy
