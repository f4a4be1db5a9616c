// SPDX-License-Identifier: Apache-2.0
// Converts the time account of a simulated machine to the runtime's totals, so that neither module depends on the
// other.
#pragma once

#include "profile/records.hpp"
#include "runtime/runtime_parts.hpp"
#include "sim/engine/virtual_machine.hpp"

namespace terrace::runtime {

inline CounterTotals totals_of(const sim::TimeAccount& account) {
  return {.accesses = account.accesses,
          .instructions = account.instructions,
          .misses = account.misses,
          .core = account.core,
          .exposed = account.exposed,
          .bandwidth_bound = account.bandwidth_bound,
          .stalled = account.stalled,
          .waited = account.waited,
          .charged = account.charged};
}

}  // namespace terrace::runtime
