// SPDX-License-Identifier: Apache-2.0
// Page policy "even": balances the traffic by allocating chunks in both memories alternately (even_policy.hpp).
#include "strategy/tiering/even_policy.hpp"
#include "strategy/tiering/page_policy.hpp"

namespace terrace::strategy {

const PagePolicy& even_page_policy() {
  static const NamedPagePolicy policy(
      "even", [](const TouchRules&) { return std::make_unique<EvenPolicy>(EvenStart::placed); });
  return policy;
}

}  // namespace terrace::strategy
