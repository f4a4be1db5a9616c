// SPDX-License-Identifier: Apache-2.0
// Writes and reads one frame of a recording (--misses FILE), for RecordingWriter and for `terrace replay`: its
// head and its compressed columns (recording_format.hpp).
//
// Layout, native byte order: u32 0x184D2A54 (zstd's magic of a skippable frame), u32 size of the rest of the head,
// "TERRACEM", u32 version, u32 number of the frame within its process, u32 process id, u32 zero, i64 start of the
// process (ns since 1970), for each column u32 size as stored, u32 size, u32 CRC-32C as stored, then u32 CRC-32C
// of the head so far. The columns follow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/recording/recording_format.hpp"

namespace terrace::sim {

// Larger columns are not written, and rejected by readers.
inline constexpr std::uint32_t k_max_column_bytes = 64U << 20;

struct FrameHead {
  std::uint32_t number = 0;  // of the process's frames; 0 is its header
  std::uint32_t process = 0;
  std::int64_t started_unix_ns = 0;
};

// Compresses frames and reuses its buffers. Runs inside of users' processes, so it does not use their malloc.
class FrameWriter {
 public:
  // `level`: zstd's compression level.
  explicit FrameWriter(int level);
  ~FrameWriter();
  FrameWriter(const FrameWriter&) = delete;
  FrameWriter& operator=(const FrameWriter&) = delete;
  // Returns the frame's bytes, valid until the next call. Throws Error{failed} if out of memory.
  std::span<const std::byte> make(const FrameHead& head,
                                  const std::array<std::span<const std::byte>, k_columns>& columns);

 private:
  struct Context;
  Context* context_;
  int level_;
  std::vector<std::byte> bytes_;
};

// A frame of a file, as its head describes it; its columns are not decompressed yet.
struct Frame {
  struct Stored {
    std::span<const std::byte> bytes;
    std::uint32_t size = 0;  // decompressed
    std::uint32_t sum = 0;
  };
  FrameHead head;
  std::size_t at = 0;  // in the file
  std::array<Stored, k_columns> columns;
};

// Returns the frame that begins at `at`, and sets `end` to its end. Throws Error{corrupt} with the reason if the
// head is damaged or the file ends within the frame. The columns are not verified; see has_intact_columns().
Frame read_frame(std::span<const std::byte> file, std::size_t at, std::size_t& end);
// Returns whether the checksum of every column is right.
[[nodiscard]] bool has_intact_columns(const Frame& frame);

class Decompressor {
 public:
  Decompressor();
  ~Decompressor();
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  // Replaces `out` by the decompressed column. Throws Error{corrupt} if it is damaged.
  void column(const Frame::Stored& stored, std::vector<std::byte>& out);

 private:
  struct Context;
  Context* context_;
};

}  // namespace terrace::sim
