// Which functions of an assembly file call others to a bounded depth: everything that they reach is in the file or
// returns without calling the program (is_leaf_of_program), and nothing reaches itself. A call of such a function
// needs no jump for constant stack (tail_calls.hpp). Calls through pointers and of other files' functions have no
// bound that is known here.
#pragma once

#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace terrace::cli {

class CallDepths {
 public:
  // What a function calls. The texts must outlive this.
  struct Calls {
    std::set<std::string_view> operands;  // of direct calls, and of jumps out of the function
    bool computed = false;                // one goes to where a register or memory says
  };

  // Takes the text of an assembly file, which must outlive this.
  explicit CallDepths(std::string_view assembly);
  // Takes functions that no other file can replace.
  explicit CallDepths(std::map<std::string_view, Calls> functions) : functions_(std::move(functions)) {}

  // Returns whether calls of `operand`, an operand of a call instruction, nest to a bounded depth.
  [[nodiscard]] bool is_bounded(std::string_view operand);

 private:
  enum class Depth : unsigned char { running, bounded, unbounded };
  void add(std::string_view line, Calls& calls) const;
  [[nodiscard]] bool is_function_bounded(std::string_view name);

  std::map<std::string_view, Calls> functions_;
  std::map<std::string_view, Depth> depths_;  // of those that were asked for
};

}  // namespace terrace::cli
