// What can be chosen by name to decide where data resides: planners, policies, static placements. Each is one file
// in its folder; the build makes the table of them (cmake/Variants.cmake), so that a new file is a new variant.
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
  // Who makes a plan of a profile; null for those that decide while the program runs only.
  [[nodiscard]] virtual const Planner* planner() const { return nullptr; }
  // A new one, where it is a policy: it works where a collector tells it what it needs, in virtual time.
  [[nodiscard]] virtual std::unique_ptr<Policy> policy() const { return nullptr; }
  // The machine runs fast memory as a cache of slow memory's lines (sim/engine/memory_cache.hpp); in virtual time.
  [[nodiscard]] virtual bool fast_memory_is_cache() const { return false; }
  // Places are allowed whole.
  [[nodiscard]] virtual bool ignores_budget() const { return false; }
  [[nodiscard]] std::optional<PolicyNeeds> policy_needs() const {
    const auto made = policy();
    return made ? std::optional(made->needs()) : std::nullopt;
  }
  [[nodiscard]] bool is_simulation_only() const { return policy_needs().has_value() || fast_memory_is_cache(); }
  [[nodiscard]] virtual std::unique_ptr<Strategy> start(const Context& context) const = 0;
};

// What decides where nothing else is said.
inline constexpr std::string_view k_default_variant = "auto";

// All of them: planners, then placements, then policies, each by name.
const std::vector<const Variant*>& variants();
// Throws Error{invalid} with the list of names where there is none.
const Variant& find_variant(std::string_view name);

}  // namespace terrace::strategy
