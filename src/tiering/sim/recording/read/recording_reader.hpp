// SPDX-License-Identifier: Apache-2.0
// Reads recordings (files of a run's cache misses and events, which --misses FILE writes) from arbitrary bytes,
// for `terrace replay`. Errors name no path: the subcommand prefixes it, and says what to do. A frame that is
// incomplete or damaged ends the recording, and the reason is returned. A complete frame with content that no
// recorder writes throws.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "observe/program_events.hpp"
#include "observe/tally.hpp"
#include "sim/recording/recording_format.hpp"
#include "sim/recording/recording_frame.hpp"
#include "sim/scheduler/thread_clocks.hpp"

namespace terrace::sim {

// Receives the events and quanta of a recording.
class ReplaySink : public observe::ProgramEvents {
 public:
  // Returns whether the next quantum needs its single misses. If not, its `misses` are empty, whatever it has.
  [[nodiscard]] virtual bool wants_misses() const = 0;
  virtual void quantum(const observe::Quantum& quantum, const observe::Tally& tally) = 0;
  // Returns what receives the events of the program's threads.
  virtual ThreadClocks& thread_clocks() = 0;
};

// The frames of one process of the recorded program, possibly incomplete.
struct RecordedProcess {
  RecordingHeader header;
  std::vector<Frame> frames;  // without the header frame
};

// The processes in a file, in the order in which they began to record. Frames refer to `file`, which must outlive
// them. `cut`: what ended the reading before the file's end, and where; empty if nothing did.
struct RecordingIndex {
  std::vector<RecordedProcess> processes;
  std::string cut;
};
// Returns whether the file begins like a recording of any version, complete or not.
bool is_recording(std::span<const std::byte> file);
// Throws Error{corrupt} if the file does not begin with a recording of this version.
RecordingIndex index_recording(std::span<const std::byte> file);

struct ReplayEnd {
  std::size_t frames = 0;      // complete ones, all replayed
  bool finished = false;       // the program's end was among them
  std::string reason;          // why the file's last frame was not replayed; empty if it was
  std::uint64_t repeated = 0;  // iterations of the main loop
};
// Passes everything that happened in the process to `sink`, up to the last complete frame. A loop of fewer
// iterations than `iterations` is extended by repeating its last iteration. Throws Error{corrupt} if a complete
// frame holds what no recorder writes, and Error{unsupported} if the iteration to repeat allocates or frees
// memory, or if there are several loops. Exceptions of `sink` pass through.
ReplayEnd replay_process(const RecordedProcess& process, ReplaySink& sink, std::uint64_t iterations = 0);

}  // namespace terrace::sim
