// Reads recordings, from whatever bytes are there: what is not whole ends the recording, and says so; what is
// whole and makes no sense throws.
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

// To whom a recording is told.
class ReplaySink : public observe::ProgramEvents, public ThreadClocks {
 public:
  // Whether the next quantum shall come with its single misses. Else its `misses` are empty, whatever it has.
  [[nodiscard]] virtual bool wants_misses() const = 0;
  virtual void quantum(const observe::Quantum& quantum, const observe::Tally& tally) = 0;
};

// One process of the recorded program, or what there is of it.
struct RecordedProcess {
  RecordingHeader header;
  std::vector<Frame> frames;  // without the header's
};

// The processes in a file, in the order in which they began to record; frames refer to `file`, which must outlive
// them. `cut`: what ended the reading before the file's end, where; empty when nothing did.
struct RecordingIndex {
  std::vector<RecordedProcess> processes;
  std::string cut;
};
// Whether it begins as recordings do, of whatever version, whole or not.
bool begins_as_recording(std::span<const std::byte> file);
// Throws Error{corrupt} when the file does not begin with a recording of this version.
RecordingIndex index_recording(std::span<const std::byte> file);

struct ReplayEnd {
  std::size_t frames = 0;      // that were whole, and have been told
  bool finished = false;       // the program's end was among them
  std::string reason;          // why the last frame told was not the last one of the file; empty when it was
  std::uint64_t repeated = 0;  // of the loop's iterations
};
// Tells `sink` everything that happened in the process, up to the last whole frame. A loop of fewer iterations
// than `iterations` goes on: what happened in its last one happens again. Throws Error{corrupt} when a whole frame
// holds what no recorder writes; Error{unsupported} where an iteration that makes or frees memory would have to be
// repeated, or one of several loops; what `sink` throws passes through.
ReplayEnd replay_process(const RecordedProcess& process, ReplaySink& sink, std::uint64_t iterations = 0);

}  // namespace terrace::sim
