// SPDX-License-Identifier: Apache-2.0
// Finds the functions of an assembly file whose call depth is bounded: everything that they reach is in the file
// or returns without calling the program (is_leaf_of_program), and nothing reaches itself. A call of such a
// function needs no jump for constant stack, so tail_calls.hpp and ir_tail_calls.hpp leave it unchanged. Calls
// through pointers, and of functions in other files, count as unbounded.
#pragma once

#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace terrace::cli {

// Caches its results. Not thread-safe.
class CallDepths {
 public:
  // The calls of one function. The texts must outlive the object.
  struct Calls {
    std::set<std::string_view> operands;  // of direct calls, and of jumps out of the function
    bool computed = false;                // one call's target is in a register or in memory
  };

  // Reads an assembly file, whose text must outlive the object.
  explicit CallDepths(std::string_view assembly);
  // Takes functions that cannot be interposed by another file.
  explicit CallDepths(std::map<std::string_view, Calls> functions) : functions_(std::move(functions)) {}

  // Returns whether calls of `operand`, an operand of a call instruction, nest to a bounded depth.
  [[nodiscard]] bool is_bounded(std::string_view operand);

 private:
  enum class Depth : unsigned char { running, bounded, unbounded };
  void add(std::string_view line, Calls& calls) const;
  [[nodiscard]] bool is_function_bounded(std::string_view name);

  std::map<std::string_view, Calls> functions_;
  std::map<std::string_view, Depth> depths_;  // results so far
};

}  // namespace terrace::cli
