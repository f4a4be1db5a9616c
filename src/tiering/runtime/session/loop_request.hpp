// SPDX-License-Identifier: Apache-2.0
// Defines the files by which the library inside a program asks the launcher for the loops around call sites: the
// launcher has a disassembler (observe/symbols/files/function_loops.hpp), the library has none.
//
// The library writes `loops.PROCESS.NUMBER.request` in the session's directory, under another name first; the
// launcher answers by `loops.PROCESS.NUMBER.reply` in the same way. Both are text, a line for each call site in
// the same order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace terrace::runtime {

inline constexpr std::string_view k_loop_request_prefix = "loops.";
inline constexpr std::string_view k_loop_request_suffix = ".request";
inline constexpr std::string_view k_loop_reply_suffix = ".reply";

// A place in the code of an ELF file, by its address there.
struct CodePosition {
  std::string file;
  std::uint64_t address = 0;
};

// Addresses in the file, as in observe::CodeLoop.
struct EnclosingLoop {
  std::uint64_t head = 0;
  std::uint64_t back = 0;
  std::uint64_t iteration = 0;
  bool is_counted_by_call = false;
  bool operator==(const EnclosingLoop&) const = default;
};
using EnclosingLoops = std::vector<EnclosingLoop>;  // outermost first

// A line is "ADDRESS FILE", in hexadecimal. A position whose file name contains a line break has an empty file.
std::string format_loop_request(std::span<const CodePosition> positions);
// A line is "HEAD:BACK:ITERATION" for each loop, with ":1" where the call counts it, separated by spaces.
std::string format_loop_reply(std::span<const EnclosingLoops> loops);
// Lines that are no such lines have no file, or no loops.
std::vector<CodePosition> parse_loop_request(std::string_view text);
std::vector<EnclosingLoops> parse_loop_reply(std::string_view text);

}  // namespace terrace::runtime
