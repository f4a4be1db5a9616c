// SPDX-License-Identifier: Apache-2.0
// Page policy "unified-memory": faults and tree prefetching as in NVIDIA's driver (unified_memory.hpp).
#include "strategy/tiering/unified_memory.hpp"

#include "strategy/tiering/page_policy.hpp"

namespace terrace::strategy {

const PagePolicy& unified_memory_page_policy() {
  static const NamedPagePolicy policy("unified-memory", [](const TouchRules&) {
    return std::make_unique<UnifiedMemoryPolicy>(UnifiedMemoryMode::prefetch);
  });
  return policy;
}

}  // namespace terrace::strategy
