// SPDX-License-Identifier: Apache-2.0
// Finds policies for GPUs by name: those that use touches or faults (policy.hpp), which processors do not report,
// and the policies among the variants (variant.hpp). The Python bindings call it for `terrace lab gpu --policy
// NAME`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "strategy/policy.hpp"
#include "strategy/tiering/touch_policy.hpp"

namespace terrace::strategy {

[[nodiscard]] std::vector<std::string> gpu_policy_names();
// Returns a new policy; only "touch" uses the rules. Throws Error{invalid} with the list of names for an unknown
// name.
[[nodiscard]] std::unique_ptr<Policy> make_gpu_policy(std::string_view name, const TouchRules& rules);

}  // namespace terrace::strategy
