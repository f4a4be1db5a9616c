// SPDX-License-Identifier: Apache-2.0
// Writes a trace (trace.hpp), for the tracer (plugin/plugin.cpp). Not thread-safe: a tracer of several threads
// locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tracer/trace.hpp"

struct ZSTD_CCtx_s;

namespace terrace::tracer {

// An instruction that accesses memory, one for each size and direction that it was met with. The caller keeps
// them, so that an access costs no search; the rest is the writer's.
struct TraceSite {
  std::uint64_t pc = 0;
  std::uint32_t size = 0;  // 1 to k_trace_most_access
  bool store = false;
  std::uint64_t frame = 0;  // in which `number` and `last` hold
  std::uint64_t number = 0;
  std::uint64_t last = 0;  // address
};

class TraceWriter {
 public:
  // Takes compressed bytes to where they belong; false when there is no way (the disk is full).
  using Put = std::function<bool(std::span<const std::byte>)>;
  // Throws Error{failed} when the header cannot be written, Error{no_memory} when zstd has none.
  TraceWriter(const TraceHeader& header, Put put);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  void access(TraceSite& site, std::uint32_t thread, std::uint64_t address) {
    if (at_ + k_room > buffer_.size()) [[unlikely]]
      write_frame();
    if (thread != thread_) [[unlikely]]
      set_thread(thread);
    if (site.frame != frame_) [[unlikely]]
      add_site(site);
    put_number(k_trace_first_site + site.number);
    put_number(zigzag(address - site.last));
    site.last = address;
  }
  // Writes a record of any other kind. Texts beyond 4 KiB are cut.
  void put(const TraceRecord& record);
  // Writes what there is as a frame: what came before is safe.
  void flush();

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  // compressed, so far
  // Returns false after a failed write; then all further writes are dropped.
  [[nodiscard]] bool good() const { return good_; }

 private:
  static constexpr std::size_t k_payload = std::size_t{1} << 18;
  static constexpr std::size_t k_room = 64;  // enough for an access with all that may come before it

  void put_number(std::uint64_t value) {
    while (value >= 0x80) {
      buffer_[at_++] = static_cast<std::byte>(value | 0x80);
      value >>= 7;
    }
    buffer_[at_++] = static_cast<std::byte>(value);
  }
  void put_text(std::string_view text);
  void set_thread(std::uint32_t thread);
  void add_site(TraceSite& site);
  void begin_frame();
  void write_frame();

  Put put_;
  ZSTD_CCtx_s* zstd_;
  std::vector<std::byte> buffer_;  // the frame's payload
  std::vector<std::byte> compressed_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;    // where the frame's records begin
  std::uint64_t frame_ = 0;  // its number; that of the header is 0
  std::uint64_t sites_ = 0;  // of the frame
  std::uint32_t thread_ = 0;
  std::uint64_t last_pc_ = 0;
  std::uint64_t bytes_ = 0;
  bool good_ = true;
};

}  // namespace terrace::tracer
