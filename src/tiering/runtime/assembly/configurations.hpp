// SPDX-License-Identifier: Apache-2.0
// Builds the configurations of a session: simulated machines in virtual time, or the real machine. The agent's
// start-up and the replay call it. The parts live as long as the process.
#pragma once

#include <memory>
#include <string>

#include "observe/collecting/watched_pages_collector.hpp"
#include "observe/tally.hpp"
#include "profile/records.hpp"
#include "runtime/runtime_parts.hpp"
#include "runtime/session/profile_source.hpp"
#include "runtime/session/session.hpp"
#include "sim/engine/virtual_machine.hpp"
#include "sim/recording/recording_format.hpp"
#include "sim/scheduler/thread_clocks.hpp"

namespace terrace::runtime {

// A configuration and its sinks, which must receive the program's misses in this order.
struct BuiltConfiguration {
  ConfigurationParts parts;
  std::vector<observe::TallySink*> sinks;
  sim::ThreadClocks* thread_clocks = nullptr;               // null outside of virtual time
  observe::WatchedPagesCollector* watched_pages = nullptr;  // null unless pages are watched
};

// Throws Error if the journal or the ledger cannot be created.
BuiltConfiguration build_configuration(const Session& session, const SessionConfiguration& configuration,
                                       ProfileSource source, const sim::ProgramIdentity& program);

// Returns the time since 1970 by the kernel's clock, in nanoseconds, bypassing every interposer.
std::int64_t real_time_ns();
// Returns the identity of the calling process.
sim::ProgramIdentity this_program();

// Converts the time account of a simulated machine to the runtime's totals, so that neither module depends on the
// other.
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
