// SPDX-License-Identifier: Apache-2.0
// Finds the loops of a Python function in its bytecode: decodes jumps and protected ranges of CPython 3.9 to 3.13,
// and determines the natural loops of the control-flow graph (observe/code/loop_forest.hpp). PythonLoops uses it.
//
// Ranges of backward jumps are not enough: from 3.12 exception handlers are behind the function's other code, and
// jump back to the code after `try` or `with`, which is no loop. So the graph has an edge from each protected
// instruction to its handler.
//
// Nothing of Python is executed for it: the module `dis` would run in the user's program, inside of an MPI call,
// where signal handlers and the program's own modules of that name would be in the way.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "observe/code/loop_forest.hpp"

namespace terrace::runtime {

// Offsets of instructions are in bytes, as PyFrame_GetLasti() has them.
using PythonOffset = std::uint32_t;

struct PythonVersion {
  int major = 0;
  int minor = 0;
};

// Returns whether the bytecode of the version can be decoded.
[[nodiscard]] bool can_decode(PythonVersion version);

class PythonCode {
 public:
  using LineOf = std::function<int(PythonOffset)>;

  // A function without loops.
  PythonCode() = default;
  // Decodes `co_code`, and from 3.11 `co_exceptiontable`. `line_of` returns the source line of an instruction, or
  // -1. Code of a version that cannot be decoded, or that is malformed, has no loops.
  PythonCode(PythonVersion version, std::span<const std::uint8_t> code, std::span<const std::uint8_t> exceptions,
             const LineOf& line_of);

  // Returns the heads of the loops that contain the instruction, outermost first.
  [[nodiscard]] std::vector<PythonOffset> loops_at(PythonOffset offset) const;
  // Returns the head of the loop of which an iteration must have ended when the second instruction follows the
  // first one in the same activation of the function. Loop: the innermost one that contains both.
  [[nodiscard]] std::optional<PythonOffset> ended_loop(PythonOffset from, PythonOffset to) const;
  // Returns an instruction in the line of the loop's `for` or `while`.
  [[nodiscard]] PythonOffset statement_of(PythonOffset head) const;

 private:
  // Blocks are code units of two bytes.
  using Block = observe::BlockIndex;

  [[nodiscard]] Block parent(Block head) const { return forest_.around[head]; }
  [[nodiscard]] bool is_ahead(Block from, Block to, Block head) const;

  observe::ControlFlow flow_;
  observe::LoopForest forest_;
  std::map<Block, Block> statements_;  // by head, where the head is in another line than the statement
  mutable std::map<std::pair<Block, Block>, std::optional<PythonOffset>> ended_;  // answers so far
};

}  // namespace terrace::runtime
