// Makes the worlds of a session: simulated machines in virtual time, or the real one. What they are made of lives
// as long as the process.
#pragma once

#include <memory>
#include <string>

#include "backend/thread_clocks.hpp"
#include "front/session.hpp"
#include "profile/tally.hpp"
#include "runtime/runtime_parts.hpp"
#include "sim/recording_format.hpp"

namespace terrace::front {

// A world and the sinks that must hear of the program's misses for it, in order.
struct BuiltWorld {
  runtime::WorldParts parts;
  std::vector<profile::TallySink*> sinks;
  backend::ThreadClocks* thread_clocks = nullptr;  // in virtual time
};

// Collectors are made only where accesses are followed. Throws Error when the journal or the ledger cannot be
// made.
BuiltWorld build_world(const Session& session, const SessionWorld& world, bool accesses_followed,
                       const sim::ProgramIdentity& program);

// The process that asks.
sim::ProgramIdentity this_program();

}  // namespace terrace::front
