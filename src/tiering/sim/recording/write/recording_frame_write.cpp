// SPDX-License-Identifier: Apache-2.0
// Compresses columns of events into the frames of a recording, inside the user's process, for RecordingWriter. See
// recording_frame.hpp.
#define ZSTD_STATIC_LINKING_ONLY  // for custom allocators
#include <zstd.h>

#include <cstring>
#include <new>

#include "core/error.hpp"
#include "sim/recording/recording_frame.hpp"
#include "sim/recording/recording_frame_head.hpp"

namespace terrace::sim {

struct FrameWriter::Context {
  ZSTD_CCtx* zstd;
};

namespace {

// Bypasses malloc, which inside of a program is the program's: its addresses must not shift.
void* allocate(void*, std::size_t size) { return operator new(size, std::nothrow); }
void release(void*, void* address) { operator delete(address); }

}  // namespace

FrameWriter::FrameWriter(int level)
    : context_(new Context{ZSTD_createCCtx_advanced({allocate, release, nullptr})}), level_(level) {
  if (context_->zstd) return;
  delete context_;
  throw Error(Code::no_memory, "no memory for compressing a recording; free memory, or raise ulimit -v");
}

FrameWriter::~FrameWriter() {
  ZSTD_freeCCtx(context_->zstd);
  delete context_;
}

std::span<const std::byte> FrameWriter::make(const FrameHead& head,
                                             const std::array<std::span<const std::byte>, k_columns>& columns) {
  std::size_t most = k_frame_head_bytes;
  for (const auto column : columns) most += ZSTD_compressBound(column.size());
  if (bytes_.size() < most) bytes_.resize(most);
  HeadBytes described{};
  FrameHeadWriter out(described);
  out.begin(head);
  auto at = k_frame_head_bytes;
  for (const auto column : columns) {
    const auto stored = ZSTD_compressCCtx(context_->zstd, bytes_.data() + at, bytes_.size() - at, column.data(),
                                          column.size(), level_);
    if (ZSTD_isError(stored) != 0)
      throw Error(Code::failed, std::string("a recording could not be compressed: ") + ZSTD_getErrorName(stored) +
                                    "; record again");
    out.column(static_cast<std::uint32_t>(stored), static_cast<std::uint32_t>(column.size()),
               crc32c(std::span(bytes_).subspan(at, stored)));
    at += stored;
  }
  out.end();
  std::memcpy(bytes_.data(), described.data(), described.size());
  return std::span(bytes_).first(at);
}

}  // namespace terrace::sim
