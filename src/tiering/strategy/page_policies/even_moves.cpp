// SPDX-License-Identifier: Apache-2.0
// Page policy "even-moves": balances the traffic by promoting data from slow memory (even_policy.hpp).
#include "strategy/tiering/even_policy.hpp"
#include "strategy/tiering/page_policy.hpp"

namespace terrace::strategy {

const PagePolicy& even_moves_page_policy() {
  static const NamedPagePolicy policy(
      "even-moves", [](const TouchRules&) { return std::make_unique<EvenPolicy>(EvenStart::slow); });
  return policy;
}

}  // namespace terrace::strategy
