// What a simulated machine's account is among the runtime's totals: neither of the two knows of the other.
#pragma once

#include "profile/records.hpp"
#include "runtime/runtime_parts.hpp"
#include "sim/engine/virtual_machine.hpp"

namespace terrace::runtime {

inline Totals totals_of(const sim::TimeAccount& account) {
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
