// SPDX-License-Identifier: Apache-2.0
// Decodes a trace file frame by frame, and checks everything that it reads. See trace_reader.hpp.
#include "tracer/trace_reader.hpp"

#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/error.hpp"

namespace terrace::tracer {

namespace {

constexpr std::size_t k_longest_frame = ZSTD_COMPRESSBOUND(k_trace_most_payload);
constexpr std::size_t k_stretch = 2 * k_longest_frame;  // of the file, in memory
constexpr std::size_t k_frame_header = 18;              // at most (RFC 8878, section 3.1.1.1)
// A frame's checksum is optional to zstd, not to us: bit 2 of the byte behind its magic number says that it is
// there.
constexpr std::size_t k_descriptor = 4;
constexpr std::byte k_has_checksum{4};
constexpr std::size_t k_max_arguments = 1u << 20;

}  // namespace

TraceReader::TraceReader(Fetch fetch)
    : fetch_(std::move(fetch)),
      zstd_(ZSTD_createDCtx()),
      file_(std::make_unique_for_overwrite<std::byte[]>(k_stretch)) {
  if (zstd_ == nullptr) throw Error(Code::no_memory, "zstd has no memory for a trace");
  try {
    read_header();
  } catch (...) {
    ZSTD_freeDCtx(zstd_);
    throw;
  }
}

TraceReader TraceReader::open(const std::string& path) {
  std::FILE* const opened = std::fopen(path.c_str(), "rbe");
  if (opened == nullptr)
    throw Error(errno == ENOENT ? Code::not_found : Code::failed, path + ": " + std::strerror(errno));
  const std::shared_ptr<std::FILE> file(opened, [](std::FILE* open_file) { std::fclose(open_file); });
  try {
    return TraceReader(
        [file](std::span<std::byte> into) { return std::fread(into.data(), 1, into.size(), file.get()); });
  } catch (const Error& error) {
    throw Error(error.code(), path + ": " + error.what());
  }
}

TraceReader::~TraceReader() { ZSTD_freeDCtx(zstd_); }

TraceReader::TraceReader(TraceReader&& other) noexcept
    : fetch_(std::move(other.fetch_)),
      zstd_(std::exchange(other.zstd_, nullptr)),
      file_(std::move(other.file_)),
      from_(other.from_),
      to_(other.to_),
      at_end_(other.at_end_),
      payload_(std::move(other.payload_)),
      at_(other.at_),
      sites_(std::move(other.sites_)),
      thread_(other.thread_),
      last_pc_(other.last_pc_),
      header_(std::move(other.header_)),
      ending_(std::move(other.ending_)),
      stopped_(other.stopped_) {}

void TraceReader::read_header() {
  const Error damaged(Code::corrupt, "no trace of Terrace's: its first frame is not whole");
  if (!next_frame()) throw damaged;
  if (payload_.size() < k_trace_magic.size() ||
      std::memcmp(payload_.data(), k_trace_magic.data(), k_trace_magic.size()) != 0)
    throw Error(Code::invalid, "no trace of Terrace's: it does not begin with " + std::string(k_trace_magic));
  at_ = k_trace_magic.size();
  std::uint64_t version = 0;
  if (!take_number(version)) throw damaged;
  if (version != k_trace_version)
    throw Error(Code::unsupported, "a trace of version " + std::to_string(version) + "; this terrace reads " +
                                       std::to_string(k_trace_version) + "; trace the program again");
  std::string_view isa;
  std::string_view program;
  std::uint64_t arguments = 0;
  if (!take_text(isa) || !take_text(program) || !take_number(header_.page) || !take_number(header_.code_low) ||
      !take_number(header_.code_high) || !take_number(arguments) || arguments > k_max_arguments)
    throw damaged;
  header_.isa = isa;
  header_.program = program;
  for (std::uint64_t i = 0; i < arguments; ++i) {
    std::string_view text;
    if (!take_text(text)) throw damaged;
    header_.arguments.emplace_back(text);
  }
  at_ = payload_.size();
}

bool TraceReader::next(TraceRecord& record) {
  while (!stopped_) {
    if (at_ < payload_.size()) {
      if (decode(record)) return true;
      continue;
    }
    if (ending_.whole || !next_frame()) break;
    begin_records();
  }
  stopped_ = true;
  return false;
}

// Fills the buffer from the file, so that it contains the longest frame whole.
void TraceReader::fill() {
  if (at_end_ || to_ - from_ >= k_longest_frame) return;
  std::memmove(file_.get(), file_.get() + from_, to_ - from_);
  to_ -= from_;
  from_ = 0;
  while (to_ < k_stretch) {
    const auto got = fetch_({file_.get() + to_, k_stretch - to_});
    if (got == 0) {
      at_end_ = true;
      return;
    }
    to_ += std::min(got, k_stretch - to_);
  }
}

// Decompresses the next frame into payload_. Returns false, and ends the reading, at the end or at damage.
bool TraceReader::next_frame() {
  fill();
  const auto* const begin = file_.get() + from_;
  const auto have = to_ - from_;
  if (have == 0) return stop_at("truncated");
  const auto content = ZSTD_getFrameContentSize(begin, have);
  if (content == ZSTD_CONTENTSIZE_ERROR && have < k_frame_header) return stop_at("truncated");
  if (content == ZSTD_CONTENTSIZE_ERROR || content == ZSTD_CONTENTSIZE_UNKNOWN || content == 0 ||
      content > k_trace_most_payload || (begin[k_descriptor] & k_has_checksum) == std::byte{0})
    return stop_at("damaged");
  const auto size = ZSTD_findFrameCompressedSize(begin, have);
  if (ZSTD_isError(size)) return stop_at(have < k_longest_frame ? "truncated" : "damaged");
  payload_.resize(static_cast<std::size_t>(content));
  const auto got = ZSTD_decompressDCtx(zstd_, payload_.data(), payload_.size(), begin, size);
  if (ZSTD_isError(got) || got != payload_.size()) {
    payload_.clear();
    at_ = 0;
    return stop_at("damaged");
  }
  from_ += size;
  at_ = 0;
  ++ending_.frames;
  return true;
}

// Reads the number of a frame of records, which must follow the one before.
void TraceReader::begin_records() {
  sites_.clear();
  thread_ = 0;
  last_pc_ = 0;
  std::uint64_t number = 0;
  if (!take_number(number) || number != ending_.frames - 1) {  // one is missing, or comes twice
    --ending_.frames;
    stop_at("damaged");
  }
}

// Decodes one code; returns true if it was a record.
bool TraceReader::decode(TraceRecord& record) {
  std::uint64_t code = 0;
  const auto damaged = [&] {
    --ending_.frames;
    return stop_at("damaged");
  };
  if (!take_number(code)) return damaged();
  record = {};
  if (code >= k_trace_first_site) {
    std::uint64_t difference = 0;
    if (code - k_trace_first_site >= sites_.size() || !take_number(difference)) return damaged();
    Site& site = sites_[static_cast<std::size_t>(code - k_trace_first_site)];
    site.last += from_zigzag(difference);
    record.thread = thread_;
    record.flag = site.store;
    record.address = site.last;
    record.size = site.size;
    record.pc = site.pc;
    return true;
  }
  if (code == k_trace_new_site) return take_site() ? false : damaged();
  if (code == k_trace_thread) {
    std::uint64_t thread = 0;
    if (!take_number(thread) || thread >= k_trace_most_threads) return damaged();
    thread_ = static_cast<std::uint32_t>(thread);
    return false;
  }
  record.thread = thread_;
  record.kind = static_cast<TraceKind>(code);
  if (record.kind < TraceKind::thread_begin || record.kind > TraceKind::end) return damaged();
  std::uint64_t flag = 0;
  if ((has_address(record.kind) && !take_number(record.address)) ||
      (has_size(record.kind) && !take_number(record.size)) || (has_pc(record.kind) && !take_number(record.pc)) ||
      (has_flag(record.kind) && !take_number(flag)) || (has_text(record.kind) && !take_text(record.text)) ||
      flag > 1 || record.size > ~record.address)
    return damaged();
  record.flag = flag == 1;
  if (record.kind == TraceKind::end) {
    ending_.whole = true;
    ending_.limited = record.flag;
    at_ = payload_.size();
  }
  return true;
}

// Reads an instruction that the accesses of this frame refer to by number.
bool TraceReader::take_site() {
  std::uint64_t difference = 0;
  std::uint64_t shape = 0;
  if (!take_number(difference) || !take_number(shape)) return false;
  if (shape >> 1 == 0 || shape >> 1 > k_trace_most_access) return false;
  last_pc_ += from_zigzag(difference);
  sites_.push_back({last_pc_, 0, static_cast<std::uint32_t>(shape >> 1), (shape & 1) != 0});
  return true;
}

bool TraceReader::stop_at(const char* what) {
  stopped_ = true;
  if (!ending_.whole)
    ending_.reason = std::string(what) + ": " + std::to_string(ending_.frames) + " whole frames read";
  return false;
}

// Reads a number of variable length (LEB128). Returns false at the payload's end.
bool TraceReader::take_number(std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && at_ < payload_.size(); shift += 7) {
    const auto byte = std::to_integer<std::uint64_t>(payload_[at_++]);
    value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

bool TraceReader::take_text(std::string_view& text) {
  std::uint64_t size = 0;
  if (!take_number(size) || size > payload_.size() - at_) return false;
  text = {reinterpret_cast<const char*>(payload_.data() + at_), static_cast<std::size_t>(size)};
  at_ += static_cast<std::size_t>(size);
  return true;
}

}  // namespace terrace::tracer
