// SPDX-License-Identifier: Apache-2.0
// Binds the parameters of GPU page policies, which the ccnuma report states.
#include "strategy/tiering/gpu_policies.hpp"

#include <nanobind/stl/string.h>

#include <string>

#include "bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace terrace::python {

void bind_gpu_policies(nb::module_& module) {
  module.def(
      "gpu_policy_interval",
      [](const std::string& policy) { return strategy::make_gpu_policy(policy, {})->needs().interval.value; },
      "policy"_a, "Returns the seconds between two decisions of a GPU page policy; 0: none.");
}

}  // namespace terrace::python
