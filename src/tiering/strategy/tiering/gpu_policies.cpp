// SPDX-License-Identifier: Apache-2.0
// Lists the policies for GPUs and makes them by name, for `terrace lab gpu --policy` (through the Python
// bindings). See gpu_policies.hpp.
#include "strategy/tiering/gpu_policies.hpp"

#include <array>

#include "core/error.hpp"
#include "strategy/tiering/even_policy.hpp"
#include "strategy/tiering/unified_memory.hpp"
#include "strategy/variant.hpp"

namespace terrace::strategy {
namespace {

template <class SomePolicy, auto... arguments>
std::unique_ptr<Policy> make_policy(const TouchRules&) {
  return std::make_unique<SomePolicy>(arguments...);
}

struct GpuPolicy {
  std::string_view name;
  std::unique_ptr<Policy> (*make)(const TouchRules& rules);
};

// Sorted by name.
constexpr std::array k_gpu_policies{
    GpuPolicy{"access-counters", make_policy<UnifiedMemoryPolicy, UnifiedMemoryMode::access_counters>},
    GpuPolicy{"even", make_policy<EvenPolicy, EvenStart::placed>},
    GpuPolicy{"even-moves", make_policy<EvenPolicy, EvenStart::slow>},
    GpuPolicy{"migrate-on-fault", make_policy<UnifiedMemoryPolicy, UnifiedMemoryMode::first_touch>},
    GpuPolicy{
        "touch",
        [](const TouchRules& rules) -> std::unique_ptr<Policy> { return std::make_unique<TouchPolicy>(rules); }},
    GpuPolicy{"unified-memory", make_policy<UnifiedMemoryPolicy, UnifiedMemoryMode::prefetch>},
};

}  // namespace

std::vector<std::string> gpu_policy_names() {
  std::vector<std::string> names;
  for (const auto& policy : k_gpu_policies) names.emplace_back(policy.name);
  for (const auto* variant : variants())
    if (variant->policy_needs()) names.emplace_back(variant->name());
  return names;
}

std::unique_ptr<Policy> make_gpu_policy(std::string_view name, const TouchRules& rules) {
  for (const auto& policy : k_gpu_policies)
    if (policy.name == name) return policy.make(rules);
  for (const auto* variant : variants())
    if (variant->name() == name && variant->policy_needs()) return variant->policy();
  std::string names;
  for (const auto& known : gpu_policy_names()) {
    if (!names.empty()) names += ", ";
    names += known;
  }
  throw Error(Code::invalid, "there is no policy '" + std::string(name) + "' for a GPU; there are " + names);
}

}  // namespace terrace::strategy
