// SPDX-License-Identifier: Apache-2.0
// What was asked of an allocator, in order, and what came of it: to repeat what a program does without the
// program, on the same device or on another.
//
// A text file, one operation a line; "#" begins a comment, empty lines are nothing.
//
//   terrace-pim-trace 1 devices=1 banks=8 subarrays=16 rows=1024 columns=65536
//   a 1 17 2                              17 rows of 2 subarrays, called 1
//   a 2 64 1 v best = 0 0 17              vertically, best fit; it came to device 0, subarray 0, row 17
//   a 3 1024 16 beside=2 share=bank = -   in the same bank as 2: there was no room
//   g 2 share=subarray                    the next two lines are one group: all or none of them
//   a 4 8 1 v align=8x1 in=bank
//   a 5 8 1 v
//   f 2                                   block 2 is released
//
// The first line has the version and the device (`devices` may be left out: 1). Of an allocation everything behind
// rows and subarrays may be left out: h (horizontal) or v; first or best; in=subarray, in=bank or in=device;
// align, the rows and subarrays that it begins at multiples of; beside, an earlier block that still lives, and
// share, what both have in common; last, behind "=", what came of it. Names are numbers from 1 to 2^64 - 1, none
// is used twice.
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

// What came of an allocation.
struct Outcome {
  std::optional<Block> block;  // none: there was no room
  bool operator==(const Outcome&) const = default;
};

struct Operation {
  enum class Kind : std::uint8_t { allocate, group, release };
  Kind kind = Kind::allocate;
  std::uint32_t line = 0;  // of the file
  std::uint64_t id = 0;    // of the block; none for a group
  // Of an allocation. Its `beside` is empty: the number stands here.
  Request request;
  std::uint64_t beside = 0;
  std::optional<Outcome> outcome;
  // Of a group: so many allocations follow, which share that.
  std::uint32_t members = 0;
  Within share = Within::subarray;
};

struct Trace {
  Geometry geometry;
  std::vector<Operation> operations;
};

// Throws Error{invalid}, one line: "FILE:LINE: what is wrong; what to do".
Trace parse_trace(std::string_view text, const std::string& file);
// Throws Error{not_found} or Error{failed} where the file cannot be read, too.
Trace read_trace(const std::filesystem::path& path);

// The lines as parse_trace() reads them, each with its end.
std::string format_header(const Geometry& geometry);
std::string format_operation(const Operation& operation);
std::string format_trace(const Trace& trace);

// "device 0, subarray 0, row 17", or "no room".
std::string describe(const Outcome& outcome);

}  // namespace terrace::pim
