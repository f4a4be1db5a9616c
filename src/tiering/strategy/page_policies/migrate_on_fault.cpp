// SPDX-License-Identifier: Apache-2.0
// Page policy "migrate-on-fault": promotes each chunk at its first fault (unified_memory.hpp).
#include "strategy/tiering/page_policy.hpp"
#include "strategy/tiering/unified_memory.hpp"

namespace terrace::strategy {

const PagePolicy& migrate_on_fault_page_policy() {
  static const NamedPagePolicy policy("migrate-on-fault", [](const TouchRules&) {
    return std::make_unique<UnifiedMemoryPolicy>(UnifiedMemoryMode::first_touch);
  });
  return policy;
}

}  // namespace terrace::strategy
