// SPDX-License-Identifier: Apache-2.0
// Describes the executable of a trace, for trace_misses.cpp and trace_memory.cpp: where its segments were in the
// process, what its functions, lines and variables are called. An executable that was removed or rebuilt since the
// trace has no names; nothing else fails.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "observe/symbols/symbols.hpp"
#include "tracer/trace.hpp"

namespace terrace::tracer {

class TraceProgram {
 public:
  struct Range {
    std::string name;
    std::uint64_t low = 0, high = 0;
    bool writable = false;
  };

  // Reads the file that the header names, and its symbol file (written to the user's cache if need be).
  explicit TraceProgram(const TraceHeader& header);

  [[nodiscard]] bool is_code(std::uint64_t pc) const { return pc >= header_.code_low && pc < header_.code_high; }
  [[nodiscard]] const std::string& name() const { return name_; }  // without its folder
  [[nodiscard]] const std::vector<Range>& segments() const { return segments_; }
  // Returns the variables of at least a page, ascending.
  [[nodiscard]] std::vector<Range> variables() const;
  // Returns function and line: "makea cg.cpp:120".
  [[nodiscard]] std::string describe(std::uint64_t pc) const;

 private:
  void read();

  const TraceHeader header_;
  std::string name_;
  std::uint64_t bias_ = 0;
  std::vector<Range> segments_;
  std::vector<std::uint8_t> build_id_;
  observe::SymbolTable symbols_;
};

}  // namespace terrace::tracer
