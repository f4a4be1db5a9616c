// Faults and what NVIDIA's driver fetches with them: unified_memory.hpp.
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
