// See gpu_policies.hpp.
#include "strategy/tiering/gpu_policies.hpp"

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "strategy/tiering/even_policy.hpp"
#include "strategy/tiering/unified_memory.hpp"
#include "strategy/variant.hpp"

namespace terrace::strategy {
namespace {

struct Named {
  std::string_view name;
  std::unique_ptr<Policy> (*make)(const TouchRules&);
};

template <UnifiedMemoryMode mode>
std::unique_ptr<Policy> unified(const TouchRules&) {
  return std::make_unique<UnifiedMemory>(mode);
}

template <EvenStart start>
std::unique_ptr<Policy> even(const TouchRules&) {
  return std::make_unique<EvenPolicy>(start);
}

constexpr std::array k_policies{
    Named{"touch",
          [](const TouchRules& rules) -> std::unique_ptr<Policy> { return std::make_unique<TouchPolicy>(rules); }},
    Named{"first-touch", &unified<UnifiedMemoryMode::first_touch>},
    Named{"unified-memory", &unified<UnifiedMemoryMode::prefetch>},
    Named{"access-counters", &unified<UnifiedMemoryMode::access_counters>},
    Named{"even", &even<EvenStart::placed>},
    Named{"even-moves", &even<EvenStart::slow>},
};

}  // namespace

std::vector<std::string> gpu_policy_names() {
  std::vector<std::string> names;
  for (const auto& policy : k_policies) names.emplace_back(policy.name);
  for (const auto* variant : variants())
    if (variant->watches()) names.emplace_back(variant->name());
  return names;
}

std::unique_ptr<Policy> make_gpu_policy(std::string_view name, const TouchRules& rules) {
  for (const auto& policy : k_policies)
    if (policy.name == name) return policy.make(rules);
  for (const auto* variant : variants())
    if (variant->name() == name && variant->watches()) return variant->policy();
  std::string names;
  for (const auto& known : gpu_policy_names()) names += (names.empty() ? "" : ", ") + known;
  throw Error(Code::invalid, "no policy '" + std::string(name) + "' for a GPU; there are " + names);
}

}  // namespace terrace::strategy
