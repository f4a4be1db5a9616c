// Makes the configurations of a session: simulated machines in virtual time, or the real one. What they are made
// of lives as long as the process.
#pragma once

#include <memory>
#include <string>

#include "observe/collecting/watched_pages_collector.hpp"
#include "observe/tally.hpp"
#include "runtime/runtime_parts.hpp"
#include "runtime/session/observed.hpp"
#include "runtime/session/session.hpp"
#include "sim/recording/recording_format.hpp"
#include "sim/scheduler/thread_clocks.hpp"

namespace terrace::runtime {

// A configuration and the sinks that must hear of the program's misses for it, in order.
struct BuiltConfiguration {
  ConfigurationParts parts;
  std::vector<observe::TallySink*> sinks;
  sim::ThreadClocks* thread_clocks = nullptr;               // in virtual time
  observe::WatchedPagesCollector* watched_pages = nullptr;  // where pages are watched
};

// Throws Error when the journal or the ledger cannot be
// made.
BuiltConfiguration build_configuration(const Session& session, const SessionConfiguration& configuration,
                                       Observed observed, const sim::ProgramIdentity& program);

// Since 1970, by the kernel's clock.
std::int64_t real_time_ns();
// The process that asks.
sim::ProgramIdentity this_program();

}  // namespace terrace::runtime
