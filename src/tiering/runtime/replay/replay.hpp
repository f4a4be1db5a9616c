// Replays a recorded program: the same runtime, configurations, collectors and planners as inside the program hear
// of the same objects, phases and misses in the same order, and write the same journals. What a session's
// `recording` is to the program it is here, too: nothing; the recording is given apart.
#pragma once

#include "runtime/session/session.hpp"
#include "sim/recording/read/recording_reader.hpp"

namespace terrace::runtime {

// Writes the journals of the process, a configuration each, into the session's folder. Throws Error{invalid} when
// a configuration's caches are not the recorded ones, naming the difference; Error{corrupt} as replay_process
// does, and when the recorded objects are not cut into chunks as they were.
sim::ReplayEnd replay(const sim::RecordedProcess& recorded, const Session& session, std::uint64_t iterations = 0);

}  // namespace terrace::runtime
