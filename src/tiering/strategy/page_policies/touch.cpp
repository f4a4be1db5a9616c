// SPDX-License-Identifier: Apache-2.0
// Page policy "touch": promotes chunks after a number of accesses (touch_policy.hpp).
#include "strategy/tiering/page_policy.hpp"

namespace terrace::strategy {

const PagePolicy& touch_page_policy() {
  static const NamedPagePolicy policy(
      "touch", [](const TouchRules& rules) { return std::make_unique<TouchPolicy>(rules); });
  return policy;
}

}  // namespace terrace::strategy
