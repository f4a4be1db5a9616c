// SPDX-License-Identifier: Apache-2.0
// Reads frames (the compressed blocks of a recording, each with a checksum) from arbitrary bytes and decompresses
// their columns, for `terrace replay`, which prefixes errors with the path. See recording_frame.hpp.
#include <zstd.h>

#include <string>

#include "core/error.hpp"
#include "sim/recording/recording_frame.hpp"
#include "sim/recording/recording_frame_head.hpp"

namespace terrace::sim {

Frame read_frame(std::span<const std::byte> file, std::size_t at, std::size_t& end) {
  const auto left = file.subspan(at);
  if (left.size() < k_frame_head_bytes)
    throw Error(Code::corrupt, "the recording's file ends early, within a frame's head");
  BlobReader in(left.first(k_frame_head_bytes));
  const bool marked =
      in.get<std::uint32_t>() == k_skippable_frame && in.get<std::uint32_t>() == k_frame_head_bytes - 8 &&
      std::memcmp(in.take(k_recording_magic.size()), k_recording_magic.data(), k_recording_magic.size()) == 0;
  if (!marked) throw Error(Code::corrupt, "the recording is damaged: no frame begins where one is expected");
  const auto version = in.get<std::uint32_t>();
  Frame frame;
  frame.at = at;
  frame.head.number = in.get<std::uint32_t>();
  frame.head.process = in.get<std::uint32_t>();
  in.get<std::uint32_t>();
  frame.head.started_unix_ns = in.get<std::int64_t>();
  std::array<std::uint32_t, k_columns> stored{};
  for (std::size_t i = 0; i < k_columns; ++i) {
    stored[i] = in.get<std::uint32_t>();
    frame.columns[i].size = in.get<std::uint32_t>();
    frame.columns[i].sum = in.get<std::uint32_t>();
  }
  if (crc32c(left.first(k_frame_head_bytes - 4)) != in.get<std::uint32_t>())
    throw Error(Code::corrupt, "the recording is damaged: a frame's head does not match its checksum");
  if (version != k_recording_version)
    throw Error(Code::corrupt, "the recording has version " + std::to_string(version) +
                                   ", this program reads version " + std::to_string(k_recording_version));
  auto from = k_frame_head_bytes;
  for (std::size_t i = 0; i < k_columns; ++i) {
    auto& column = frame.columns[i];
    if (column.size > k_max_column_bytes)
      throw Error(Code::corrupt, "the recording is damaged: a column of a frame is too large");
    if (stored[i] > left.size() - from)
      throw Error(Code::corrupt, "the recording's file ends early, within a frame");
    column.bytes = left.subspan(from, stored[i]);
    from += stored[i];
  }
  end = at + from;
  return frame;
}

bool has_intact_columns(const Frame& frame) {
  for (const auto& column : frame.columns)
    if (crc32c(column.bytes) != column.sum) return false;
  return true;
}

struct Decompressor::Context {
  ZSTD_DCtx* zstd;
};

Decompressor::Decompressor() : context_(new Context{ZSTD_createDCtx()}) {
  if (context_->zstd) return;
  delete context_;
  throw Error(Code::no_memory, "no memory for reading a recording; free memory, or raise ulimit -v");
}

Decompressor::~Decompressor() {
  ZSTD_freeDCtx(context_->zstd);
  delete context_;
}

void Decompressor::column(const Frame::Stored& stored, std::vector<std::byte>& out) {
  // Checked before memory is allocated for it.
  if (ZSTD_getFrameContentSize(stored.bytes.data(), stored.bytes.size()) != stored.size)
    throw Error(Code::corrupt, "the recording is damaged: a column has another size than its frame says");
  out.resize(stored.size);
  const auto size =
      ZSTD_decompressDCtx(context_->zstd, out.data(), out.size(), stored.bytes.data(), stored.bytes.size());
  if (ZSTD_isError(size) != 0 || size != stored.size)
    throw Error(Code::corrupt, "the recording is damaged: a column cannot be decompressed");
}

}  // namespace terrace::sim
