// Writes a program's recording, from inside the program: what happens goes into the columns of a frame, and a
// frame that is full goes to the end of the file in one call. Costs no virtual time.
//
// When the file cannot take a frame (a full disk, a limit), the recording ends there, once says why, nothing
// throws, and the program goes on. A frame that was torn by that is no whole frame, and readers stop before it.
//
// Not for several threads at a time: whoever tells it serialises its calls.
#pragma once

#include <functional>
#include <string>

#include "observe/access_sink.hpp"
#include "observe/program_events.hpp"
#include "sim/recording/recording_format.hpp"
#include "sim/recording/recording_frame.hpp"
#include "sim/recording/recording_quantum.hpp"
#include "sim/scheduler/thread_clocks.hpp"

namespace terrace::sim {

inline constexpr std::size_t k_frame_bytes = std::size_t{1} << 20;

class RecordingWriter final : public observe::ProgramEvents, public ThreadClocks {
 public:
  // Appends to the file, which must exist, and writes the header there. A frame ends when its columns have
  // `frame_bytes` before compression: that much a kill may cost. `ends_early` is told why, should it come to that.
  // Throws Error{failed} when it cannot.
  using Complaint = std::function<void(const std::string& why)>;
  RecordingWriter(const std::string& path, const RecordingHeader& header, Complaint ends_early = {},
                  std::size_t frame_bytes = k_frame_bytes);
  ~RecordingWriter() override;  // what is in the frame that is being filled is lost, as when the program is killed
  RecordingWriter(const RecordingWriter&) = delete;
  RecordingWriter& operator=(const RecordingWriter&) = delete;

  void quantum(const observe::Quantum& quantum);

  void hinted(const observe::ProgramHint& hint) override;
  void object_added(const observe::NewObject& object) override;
  void object_removed(ObjectId object) override;
  void loop_begun(const observe::NewLoop& loop) override;
  void loop_ended() override;
  void phase_begun(std::string_view name) override;
  void slept(Seconds duration) override;
  void unobserved(std::uint64_t unseen, std::uint64_t dropped) override;
  void covered(std::span<const std::byte> record) override;
  void loops_seen(std::span<const std::byte> record) override;
  void noted(std::string_view severity, std::string_view text) override;
  void finished(std::string_view how) override;

  void runs(std::uint32_t thread) override;
  void alive(std::uint32_t threads) override;
  void follow(std::uint32_t thread, std::uint32_t other) override;
  void meet(std::span<const std::uint32_t> threads) override;
  void release(std::uint64_t lock) override;
  void acquire(std::uint64_t lock) override;

 private:
  template <class Put>
  void event(EventTag tag, Put put);
  void put_record(EventTag tag, std::span<const std::byte> record);
  void end_frame();
  void append(std::span<const std::byte> bytes);

  std::size_t frame_bytes_;
  int file_ = -1;
  int process_ = 0;  // that opened it; a forked child has a copy and leaves the file alone
  FrameWriter frames_;
  FrameHead head_;
  RecordingColumns columns_;
  QuantumEncoder quanta_;
  std::uint64_t unseen_ = 0, dropped_ = 0;
  std::uint32_t running_ = 0;
  bool closed_ = false;  // the last event was written, or nothing can be
  Complaint ends_early_;
};

}  // namespace terrace::sim
