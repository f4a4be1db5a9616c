// SPDX-License-Identifier: Apache-2.0
// Page policy "access-counters": access counters of 64 KiB (unified_memory.hpp).
#include "strategy/tiering/page_policy.hpp"
#include "strategy/tiering/unified_memory.hpp"

namespace terrace::strategy {

const PagePolicy& access_counters_page_policy() {
  static const NamedPagePolicy policy("access-counters", [](const TouchRules&) {
    return std::make_unique<UnifiedMemoryPolicy>(UnifiedMemoryMode::access_counters);
  });
  return policy;
}

}  // namespace terrace::strategy
