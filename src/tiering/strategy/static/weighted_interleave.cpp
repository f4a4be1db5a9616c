// SPDX-License-Identifier: Apache-2.0
// Implements `--planner weighted-interleave`: places chunks round robin over the places of their domain, in the
// ratio of the bandwidths, as Linux 6.9 does.
#include "strategy/tiering/interleave.hpp"

namespace terrace::strategy {

const Variant& weighted_interleave_variant() {
  static const Interleave variant("weighted-interleave", true);
  return variant;
}

}  // namespace terrace::strategy
