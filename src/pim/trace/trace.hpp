// SPDX-License-Identifier: Apache-2.0
// Defines the text format of traces of PIM allocations: requests in order and their outcomes. A trace replays a
// program's allocations without the program, on the same or another device. bmem.h writes it (BMEM_TRACE=FILE),
// `terrace lab pim` reads it.
//
// One operation a line; "#" begins a comment, empty lines are ignored.
//
//   terrace-pim-trace 1 devices=1 banks=8 subarrays=16 rows=1024 columns=65536
//   a 1 17 2                              allocate 17 rows of 2 subarrays as block 1
//   a 2 64 1 v best = 0 0 17              vertical, best fit; placed at device 0, subarray 0, row 17
//   a 3 1024 16 beside=2 share=bank = -   in the same bank as 2; failed: no space
//   g 2 share=subarray                    the next two lines are one group: all or none of them
//   a 4 8 1 v align=8x1 in=bank
//   a 5 8 1 v
//   f 2                                   release block 2
//
// The first line has the version and the device (`devices` may be omitted: 1). Of an allocation all fields
// after rows and subarrays may be omitted: h (horizontal) or v; first or best; in=subarray, in=bank or
// in=device; align, the alignment in rows and subarrays; beside, an earlier live block, and share, what both
// have in common; and, after "=", the outcome. Ids are unique numbers from 1 to 2^64 - 1.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pim/allocator.hpp"

namespace terrace::pim {

inline constexpr std::uint32_t k_trace_version = 1;

// The outcome of an allocation.
struct Outcome {
  std::optional<Block> block;  // none: failed, no space
  bool operator==(const Outcome&) const = default;
};

struct Operation {
  enum class Kind : std::uint8_t { allocate, group, release };
  Kind kind = Kind::allocate;
  std::uint32_t line = 0;  // line in the file
  std::uint64_t id = 0;    // block id; 0 for a group
  // For an allocation. Its `beside` handle is empty; `beside` below has the id.
  Request request;
  std::uint64_t beside = 0;
  std::optional<Outcome> outcome;
  // For a group: the number of allocations that follow, and what they share.
  std::uint32_t members = 0;
  Within share = Within::subarray;
};

struct Trace {
  Geometry geometry;
  std::vector<Operation> operations;
};

// Parses a trace. Throws Error{invalid}, one line: "FILE:LINE: what is wrong; what to do".
Trace parse_trace(std::string_view text, const std::string& file);
// Reads and parses a file. Also throws Error{not_found} or Error{failed}.
Trace read_trace(const std::filesystem::path& path);

// Format lines as parse_trace() reads them, each with its newline.
std::string format_header(const Geometry& geometry);
std::string format_operation(const Operation& operation);
std::string format_trace(const Trace& trace);

// Describes an outcome: "device 0, subarray 0, row 17", or "no room".
std::string describe(const Outcome& outcome);

}  // namespace terrace::pim
