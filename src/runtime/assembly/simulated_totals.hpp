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

inline profile::SpillRecord spill_record_of(const sim::FileAccount& account) {
  profile::SpillRecord record;
  record.read = account.read;
  record.written = account.written;
  record.foreseen = account.foreseen;
  record.demanded = account.demanded;
  record.wasted = account.wasted;
  record.clean = account.clean;
  record.touches = account.touches;
  record.waited = account.waited;
  record.content = account.content;
  record.most = account.most;
  record.limit = account.limit;
  record.given = account.given;
  record.least_read = account.least_read;
  record.least_written = account.least_written;
  record.least_time = account.least_time;
  return record;
}

}  // namespace terrace::runtime
