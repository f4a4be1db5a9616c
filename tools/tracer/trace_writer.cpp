// SPDX-License-Identifier: Apache-2.0
// Encodes a trace into compressed frames, for the tracer (plugin/plugin.cpp). See trace_writer.hpp.
#include "tracer/trace_writer.hpp"

#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "core/error.hpp"

namespace terrace::tracer {

namespace {

// Fast: the tracer waits for it. Deltas of loops are so regular that higher levels gain little.
constexpr int k_level = 3;
constexpr std::size_t k_longest_text = 4096;

}  // namespace

TraceWriter::TraceWriter(const TraceHeader& header, Put put)
    : put_(std::move(put)), zstd_(ZSTD_createCCtx()), buffer_(k_payload) {
  if (zstd_ == nullptr) throw Error(Code::no_memory, "zstd has no memory for a trace");
  ZSTD_CCtx_setParameter(zstd_, ZSTD_c_compressionLevel, k_level);
  ZSTD_CCtx_setParameter(zstd_, ZSTD_c_checksumFlag, 1);
  compressed_.resize(ZSTD_compressBound(k_payload));
  for (const char c : k_trace_magic) buffer_[at_++] = static_cast<std::byte>(c);
  put_number(k_trace_version);
  put_text(header.isa);
  put_text(header.program);
  put_number(header.page);
  put_number(header.code_low);
  put_number(header.code_high);
  // As many arguments as fit: a command line may be megabytes long.
  const auto room = (k_payload - at_ - k_room) / (k_longest_text + k_room);
  const auto arguments = std::min(header.arguments.size(), room);
  put_number(arguments);
  for (std::size_t i = 0; i < arguments; ++i) put_text(header.arguments[i]);
  write_frame();
  if (!good_) {
    ZSTD_freeCCtx(zstd_);
    throw Error(Code::failed, "the trace's first bytes cannot be written");
  }
}

TraceWriter::~TraceWriter() {
  flush();
  ZSTD_freeCCtx(zstd_);
}

void TraceWriter::put(const TraceRecord& record) {
  if (at_ + k_room + k_longest_text > buffer_.size()) write_frame();
  if (record.thread != thread_) set_thread(record.thread);
  put_number(static_cast<std::uint64_t>(record.kind));
  if (has_address(record.kind)) put_number(record.address);
  if (has_size(record.kind)) put_number(record.size);
  if (has_pc(record.kind)) put_number(record.pc);
  if (has_flag(record.kind)) put_number(record.flag ? 1 : 0);
  if (has_text(record.kind)) put_text(record.text);
}

void TraceWriter::flush() {
  if (at_ > begin_) write_frame();
}

void TraceWriter::put_text(std::string_view text) {
  text = text.substr(0, k_longest_text);
  put_number(text.size());
  std::memcpy(buffer_.data() + at_, text.data(), text.size());
  at_ += text.size();
}

void TraceWriter::set_thread(std::uint32_t thread) {
  thread_ = thread;
  put_number(k_trace_thread);
  put_number(thread);
}

// Writes an instruction, which this frame's accesses refer to by its number.
void TraceWriter::add_site(TraceSite& site) {
  put_number(k_trace_new_site);
  put_number(zigzag(site.pc - last_pc_));
  put_number(std::uint64_t{site.size} << 1 | (site.store ? 1 : 0));
  last_pc_ = site.pc;
  site.frame = frame_;
  site.number = sites_++;
  site.last = 0;
}

// Begins a frame that can be decoded alone: with its number and its thread.
void TraceWriter::begin_frame() {
  ++frame_;
  at_ = 0;
  sites_ = 0;
  last_pc_ = 0;
  put_number(frame_);
  begin_ = at_;
  // Each frame names the thread that it begins with.
  set_thread(thread_);
  begin_ = at_;
}

void TraceWriter::write_frame() {
  if (good_) {
    const auto size = ZSTD_compress2(zstd_, compressed_.data(), compressed_.size(), buffer_.data(), at_);
    good_ = !ZSTD_isError(size) && put_(std::span(compressed_).first(size));
    if (good_) bytes_ += size;
  }
  begin_frame();
}

}  // namespace terrace::tracer
