// SPDX-License-Identifier: Apache-2.0
// Replays a recorded program, for `terrace replay`: the runtime, configurations, collectors and planners receive
// the same objects, phases and misses in the same order as inside the program, and write the same journals.
// Session::recording is ignored; the recording is a separate argument.
#pragma once

#include "runtime/session/session.hpp"
#include "sim/recording/read/recording_reader.hpp"

namespace terrace::runtime {

// Writes the journals of the process, one for each configuration, into the session's folder. `iterations`: as in
// sim::replay_process. Throws Error{invalid} if a configuration's caches differ from the recorded ones, naming the
// difference. Throws Error{corrupt} as replay_process does, and if the recorded objects would be cut into other
// chunks.
sim::ReplayEnd replay(const sim::RecordedProcess& recorded, const Session& session, std::uint64_t iterations = 0);

}  // namespace terrace::runtime
