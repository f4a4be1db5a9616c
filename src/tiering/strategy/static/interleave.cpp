// SPDX-License-Identifier: Apache-2.0
// Defines `--planner interleave` for the table of planners: chunks go round robin over the places of their domain,
// 1:1, as `numactl --interleave` places pages.
#include "strategy/tiering/interleave.hpp"

namespace terrace::strategy {

const Variant& interleave_variant() {
  static const Interleave variant("interleave", /*weighted=*/false);
  return variant;
}

}  // namespace terrace::strategy
