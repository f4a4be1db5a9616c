// What a policy of GPU pages needs, for who reports on it.
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
      "policy"_a, "Seconds between two decisions of a policy of GPU pages; 0: it has no interval.");
}

}  // namespace terrace::python
