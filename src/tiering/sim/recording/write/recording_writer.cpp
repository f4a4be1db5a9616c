// SPDX-License-Identifier: Apache-2.0
// Encodes a program's events into columns, columns into frames, and appends the frames to the file of --misses
// FILE, for the agent. See recording_writer.hpp.
#include "sim/recording/write/recording_writer.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/errno_scope.hpp"
#include "core/error.hpp"

namespace terrace::sim {

namespace {

constexpr int k_level =
    1;  // zstd's: the program waits for it, and higher levels gain little (docs/reference/recordings.md)

// Returns whether the file may grow by `more`. A write beyond RLIMIT_FSIZE would raise SIGXFSZ and end the
// program.
bool allowed(int file, std::size_t more) {
  rlimit limit{};
  struct stat status {};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || fstat(file, &status) != 0 ||
         static_cast<std::uint64_t>(status.st_size) + more <= limit.rlim_cur;
}

// Encodes a field of an event, or the number of fields and each.
template <class Field>
void put(std::vector<std::byte>& out, const Field& field) {
  if constexpr (std::is_enum_v<Field>) {
    put_byte(out, static_cast<std::uint8_t>(field));
  } else if constexpr (std::is_integral_v<Field>) {
    put_number(out, field);
  } else if constexpr (std::is_floating_point_v<Field>) {
    put_time(out, field);
  } else if constexpr (std::is_same_v<Field, std::string_view>) {
    put_text(out, field);
  } else {
    put_number(out, field.size());
    for (const auto& one : field) put(out, one);
  }
}

}  // namespace

RecordingWriter::RecordingWriter(const std::string& path, const RecordingHeader& header, Complaint ends_early,
                                 std::size_t frame_bytes)
    : frame_bytes_(frame_bytes),
      file_(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)),
      process_(getpid()),
      frames_(k_level) {
  std::string problem = file_ < 0 ? std::string("cannot open it: ") + std::strerror(errno) : std::string();
  ends_early_ = [&](const std::string& why) { problem = why; };
  head_ = {0, header.identity.process, header.identity.started_unix_ns};
  BlobWriter blob;
  header.to_blob(blob);
  columns_.events.assign(blob.bytes().begin(), blob.bytes().end());
  if (problem.empty()) end_frame();
  ends_early_ = std::move(ends_early);
  if (problem.empty()) return;
  if (file_ >= 0) close(file_);
  throw Error(Code::failed, "recording " + path + ": " + problem);
}

RecordingWriter::~RecordingWriter() { close(file_); }

void RecordingWriter::quantum(const observe::Quantum& quantum) {
  if (closed_) return;
  running_ = quantum.thread;
  quanta_.put(columns_, quantum);
  if (columns_.size() >= frame_bytes_) end_frame();
}

template <class... Fields>
void RecordingWriter::event(EventTag tag, const Fields&... fields) {
  if (closed_) return;
  put(columns_.events, tag);
  (put(columns_.events, fields), ...);
  if (columns_.size() >= frame_bytes_) end_frame();
}

void RecordingWriter::on_hint(const observe::ProgramHint& hint) {
  event(EventTag::hinted, hint.what, hint.of, hint.says, hint.value);
}

void RecordingWriter::on_object_added(const observe::NewObject& object) {
  event(EventTag::object_added, object.name, object.kind, object.address, object.size.value, object.id,
        object.first_chunk, object.chunks);
}

void RecordingWriter::on_object_removed(ObjectId object) { event(EventTag::object_removed, object); }

void RecordingWriter::on_loop_begin(const observe::NewLoop& loop) {
  event(EventTag::loop_begin, loop.name, loop.why, loop.turns_before,
        static_cast<std::uint64_t>(loop.work_share * static_cast<double>(k_share_parts) + 0.5));
}

void RecordingWriter::on_loop_end() { event(EventTag::loop_end); }
void RecordingWriter::on_phase_begin(std::string_view name) { event(EventTag::phase_begin, name); }
void RecordingWriter::on_sleep(Seconds duration) { event(EventTag::slept, duration.value); }

// Written once: every configuration reports it, at the same moments.
void RecordingWriter::on_unobserved(std::uint64_t unseen, std::uint64_t dropped) {
  if (unseen == unseen_ && dropped == dropped_) return;
  unseen_ = unseen;
  dropped_ = dropped;
  event(EventTag::unobserved, unseen, dropped);
}

void RecordingWriter::on_coverage(std::span<const std::byte> record) { event(EventTag::covered, record); }
void RecordingWriter::on_loop_candidates(std::span<const std::byte> record) {
  event(EventTag::loop_candidates, record);
}
void RecordingWriter::on_mpi_statistics(std::span<const std::byte> record) {
  event(EventTag::mpi_statistics, record);
}
void RecordingWriter::on_note(std::string_view severity, std::string_view text) {
  event(EventTag::noted, severity, text);
}

void RecordingWriter::on_finish(std::string_view how) {
  event(EventTag::finished, how);
  if (!closed_ && columns_.size() > 0) end_frame();
  closed_ = true;
}

// Written only on change: reported at every quantum, mostly for the thread that ran before.
void RecordingWriter::set_running(std::uint32_t thread) {
  if (thread == running_) return;
  running_ = thread;
  event(EventTag::runs, thread);
}

void RecordingWriter::set_num_alive(std::uint32_t threads) { event(EventTag::alive, threads); }
void RecordingWriter::advance_to(std::uint32_t thread, std::uint32_t other) {
  event(EventTag::follow, thread, other);
}
void RecordingWriter::synchronize(std::span<const std::uint32_t> threads) { event(EventTag::meet, threads); }
void RecordingWriter::on_unlock(std::uint64_t lock) { event(EventTag::release, lock); }
void RecordingWriter::on_lock(std::uint64_t lock) { event(EventTag::acquire, lock); }

void RecordingWriter::end_frame() {
  if (getpid() != process_) return;
  const ErrnoScope errno_scope;
  try {
    append(frames_.make(head_, {columns_.events, columns_.classes, columns_.lines}));
  } catch (const std::exception& failure) {
    closed_ = true;
    if (ends_early_) ends_early_(failure.what());
  }
  columns_.clear();
  ++head_.number;
}

void RecordingWriter::append(std::span<const std::byte> bytes) {
  if (!allowed(file_, bytes.size())) throw Error(Code::failed, std::strerror(EFBIG));
  while (!bytes.empty()) {
    const auto n = write(file_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw Error(Code::failed, std::strerror(n < 0 ? errno : ENOSPC));
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

}  // namespace terrace::sim
