// SPDX-License-Identifier: Apache-2.0
// Implements `--planner interleave`: places chunks round robin over the places of their domain, 1:1, as `numactl
// --interleave` does.
#include "strategy/tiering/interleave.hpp"

namespace terrace::strategy {

const Variant& interleave_variant() {
  static const Interleave variant("interleave", false);
  return variant;
}

}  // namespace terrace::strategy
