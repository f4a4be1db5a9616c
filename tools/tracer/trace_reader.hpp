// SPDX-License-Identifier: Apache-2.0
// Reads a trace (trace.hpp), for the count of misses (trace_misses.cpp). Never trusts the file: memory is bounded
// whatever it says, and the first frame that is not whole ends the reading; what came before it stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tracer/trace.hpp"

struct ZSTD_DCtx_s;

namespace terrace::tracer {

// How reading a trace ended.
struct TraceEnding {
  std::uint64_t frames = 0;  // whole ones, the header's included
  bool whole = false;        // the tracer's own end record was read
  bool limited = false;      // it stopped at its limit, before the program ended
  std::string reason;        // why it is not whole: "truncated: 12 whole frames read"
};

class TraceReader {
 public:
  // Fills the buffer with the next bytes, or as many as there are; 0 at the end.
  using Fetch = std::function<std::size_t(std::span<std::byte>)>;
  // Reads the header. Throws Error{corrupt} where there is none, Error{unsupported} for another version.
  explicit TraceReader(Fetch fetch);
  // Opens a file; throws Error{not_found} or Error{failed} when it cannot be opened.
  static TraceReader open(const std::string& path);
  ~TraceReader();
  TraceReader(TraceReader&&) noexcept;
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  [[nodiscard]] const TraceHeader& header() const { return header_; }
  // Reads the next record. Returns false at the end. A frame's records come only after its checksum has held.
  bool next(TraceRecord& record);
  [[nodiscard]] const TraceEnding& ending() const { return ending_; }

 private:
  struct Site {
    std::uint64_t pc = 0;
    std::uint64_t last = 0;  // address
    std::uint32_t size = 0;
    bool store = false;
  };

  bool next_frame();
  void fill();
  void begin_records();
  bool decode(TraceRecord& record);
  bool stop_at(const char* what);  // false
  bool take_number(std::uint64_t& value);
  bool take_text(std::string_view& text);
  bool take_site();
  void read_header();

  Fetch fetch_;
  ZSTD_DCtx_s* zstd_;
  std::unique_ptr<std::byte[]> file_;  // a buffer of fixed size
  std::size_t from_ = 0, to_ = 0;      // its unread range
  bool at_end_ = false;                // the file has no more
  std::vector<std::byte> payload_;     // of the frame
  std::size_t at_ = 0;
  std::vector<Site> sites_;
  std::uint32_t thread_ = 0;
  std::uint64_t last_pc_ = 0;
  TraceHeader header_;
  TraceEnding ending_;
  bool stopped_ = false;
};

}  // namespace terrace::tracer
