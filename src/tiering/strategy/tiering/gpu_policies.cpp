// SPDX-License-Identifier: Apache-2.0
// See gpu_policies.hpp.
#include "strategy/tiering/gpu_policies.hpp"

#include "core/error.hpp"
#include "strategy/tiering/page_policy.hpp"
#include "strategy/variant.hpp"

namespace terrace::strategy {

std::vector<std::string> gpu_policy_names() {
  std::vector<std::string> names;
  for (const auto* policy : page_policies()) names.emplace_back(policy->name());
  for (const auto* variant : variants())
    if (variant->policy_needs()) names.emplace_back(variant->name());
  return names;
}

std::unique_ptr<Policy> make_gpu_policy(std::string_view name, const TouchRules& rules) {
  for (const auto* policy : page_policies())
    if (policy->name() == name) return policy->make(rules);
  for (const auto* variant : variants())
    if (variant->name() == name && variant->policy_needs()) return variant->policy();
  std::string names;
  for (const auto& known : gpu_policy_names()) {
    if (!names.empty()) names += ", ";
    names += known;
  }
  throw Error(Code::invalid, "no policy '" + std::string(name) + "' for a GPU; there are " + names);
}

}  // namespace terrace::strategy
