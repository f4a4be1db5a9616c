// SPDX-License-Identifier: Apache-2.0
// Defines the records of a trace, an access stream in a file: the loads and stores of a program, in a tracer's
// order, with the events that attribute them to objects and to code. The tracer writes them (trace_writer.hpp),
// the analysis reads them (trace_reader.hpp). docs/reference/trace-format.md describes the bytes.
//
// A trace is a row of zstd frames, each decodable alone and with a checksum of its own. The first holds the
// header, each other one a sequence of records. Reading a frame's records needs no other frame.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace terrace::tracer {

inline constexpr std::uint32_t k_trace_version = 1;
inline constexpr std::string_view k_trace_magic = "TERRTRCE";
// Bounds that a reader holds a file to, whatever it says.
inline constexpr std::size_t k_trace_most_payload = std::size_t{1} << 22;  // of a frame, uncompressed
inline constexpr std::uint64_t k_trace_most_access = 4096;                 // bytes of one access
inline constexpr std::uint32_t k_trace_most_threads = 1u << 12;

struct TraceHeader {
  std::string isa;      // the tracer's name for the instruction set: "x86_64", "aarch64"
  std::string program;  // path of the executable
  std::vector<std::string> arguments;
  std::uint64_t page = 4096;  // bytes
  // Address range of the executable's code in the process, or 0 if unknown.
  std::uint64_t code_low = 0, code_high = 0;
};

// Type of a record. The numbers are the file's.
enum class TraceKind : std::uint8_t {
  access = 0,        // `pc` loaded or stored `size` bytes at `address`
  thread_begin = 3,  // the record's thread
  thread_end = 4,
  map = 5,    // [address, address + size) is memory; `text` is the file's path, `flag` says that it is a stack
  unmap = 6,  // it is no more
  program_break = 7,  // the heap of the system's ends at `address`
  allocate = 8,  // the allocator handed out `size` bytes at `address`; `pc` is where it was called (0: not known)
  release = 9,   // and got them back
  code = 10,     // [address, address + size) is code that Terrace brought in; `text` says what it stands for
  loop_begin = 11,  // markers; `text` is the name
  phase = 12,
  loop_end = 13,
  end = 14  // the trace is whole: `flag` says that the tracer stopped at its limit, before the program ended
};

struct TraceRecord {
  TraceKind kind = TraceKind::access;
  bool flag = false;  // access: a store
  std::uint32_t thread = 0;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t pc = 0;
  std::string_view text;  // valid until the next record is read
};

// How the kinds are laid out, for writer and reader alike.
constexpr bool has_address(TraceKind kind) {
  return kind == TraceKind::map || kind == TraceKind::unmap || kind == TraceKind::program_break ||
         kind == TraceKind::allocate || kind == TraceKind::release || kind == TraceKind::code;
}
constexpr bool has_size(TraceKind kind) {
  return kind == TraceKind::map || kind == TraceKind::unmap || kind == TraceKind::allocate ||
         kind == TraceKind::code;
}
constexpr bool has_pc(TraceKind kind) { return kind == TraceKind::allocate; }
constexpr bool has_flag(TraceKind kind) { return kind == TraceKind::map || kind == TraceKind::end; }
constexpr bool has_text(TraceKind kind) {
  return kind == TraceKind::map || kind == TraceKind::code || kind == TraceKind::loop_begin ||
         kind == TraceKind::phase;
}

// Codes in a frame: a kind's number, or one of these, or from k_trace_first_site on an access by the frame's site
// of that number.
inline constexpr std::uint64_t k_trace_new_site = 1;  // a site's instruction, size and direction; no record
inline constexpr std::uint64_t k_trace_thread = 2;    // the thread of the records that follow; no record
inline constexpr std::uint64_t k_trace_first_site = 16;

constexpr std::uint64_t zigzag(std::uint64_t difference) { return (difference << 1) ^ (0 - (difference >> 63)); }
constexpr std::uint64_t from_zigzag(std::uint64_t value) { return (value >> 1) ^ (0 - (value & 1)); }

}  // namespace terrace::tracer
