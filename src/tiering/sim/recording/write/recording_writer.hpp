// SPDX-License-Identifier: Apache-2.0
// Writes a program's recording (--misses FILE) from inside the program, for the agent: events go into the columns
// of a frame, and a full frame is appended to the file in one call. Costs no virtual time.
//
// If the file cannot take a frame (a full disk, a limit), the recording ends there, `ends_early` reports the
// reason once, nothing throws, and the program continues. The torn frame is incomplete, and readers stop before
// it.
//
// Not thread-safe: the caller serialises the calls.
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
  // `frame_bytes` before compression, which is the most that a kill loses. Throws Error{failed} on failure.
  using Complaint = std::function<void(const std::string& why)>;
  RecordingWriter(const std::string& path, const RecordingHeader& header, Complaint ends_early = {},
                  std::size_t frame_bytes = k_frame_bytes);
  ~RecordingWriter() override;  // drops the frame that is being filled, as if the program were killed
  RecordingWriter(const RecordingWriter&) = delete;
  RecordingWriter& operator=(const RecordingWriter&) = delete;

  void quantum(const observe::Quantum& quantum);

  void on_hint(const observe::ProgramHint& hint) override;
  void on_object_added(const observe::NewObject& object) override;
  void on_object_removed(ObjectId object) override;
  void on_loop_begin(const observe::NewLoop& loop) override;
  void on_loop_end() override;
  void on_phase_begin(std::string_view name) override;
  void on_sleep(Seconds duration) override;
  void on_unobserved(std::uint64_t unseen, std::uint64_t dropped) override;
  void on_coverage(std::span<const std::byte> record) override;
  void on_loop_candidates(std::span<const std::byte> record) override;
  void on_mpi_statistics(std::span<const std::byte> record) override;
  void on_note(std::string_view severity, std::string_view text) override;
  void on_finish(std::string_view how) override;

  void set_running(std::uint32_t thread) override;
  void set_num_alive(std::uint32_t threads) override;
  void advance_to(std::uint32_t thread, std::uint32_t other) override;
  void synchronize(std::span<const std::uint32_t> threads) override;
  void on_unlock(std::uint64_t lock) override;
  void on_lock(std::uint64_t lock) override;

 private:
  template <class... Fields>
  void event(EventTag tag, const Fields&... fields);
  void end_frame();
  void append(std::span<const std::byte> bytes);

  std::size_t frame_bytes_;
  int file_ = -1;
  int process_ = 0;  // that opened the file; a forked child has a copy and does not write
  FrameWriter frames_;
  FrameHead head_;
  RecordingColumns columns_;
  QuantumEncoder quanta_;
  std::uint64_t unseen_ = 0, dropped_ = 0;
  std::uint32_t running_ = 0;
  bool closed_ = false;  // the last event was written, or the recording ended early
  Complaint ends_early_;
};

}  // namespace terrace::sim
