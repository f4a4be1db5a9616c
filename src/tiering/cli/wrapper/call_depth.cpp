// SPDX-License-Identifier: Apache-2.0
// Finds functions of bounded call depth by a depth-first search of the call graph. The restorers of tail calls
// skip their calls. See call_depth.hpp.
#include "cli/wrapper/call_depth.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "cli/wrapper/assembly_text.hpp"
#include "cli/wrapper/gcc_instruction.hpp"

namespace terrace::cli {

namespace {

bool is_label_of_function(std::string_view operand) {
  return operand.starts_with(".L") ||
         (!operand.empty() && std::isdigit(static_cast<unsigned char>(operand[0])) != 0);
}

}  // namespace

CallDepths::CallDepths(std::string_view assembly) {
  Calls calls;
  for_each_line(assembly, [&](std::string_view line) {
    add(line, calls);
    if (const auto name = function_ended_by(line); !name.empty())
      functions_.insert_or_assign(name, std::exchange(calls, {}));
  });
}

// Adds the call or jump of an instruction to those of its function.
void CallDepths::add(std::string_view line, Calls& calls) const {
  const auto one = parse_instruction(line);
  const bool is_call = one.mnemonic.starts_with("call");
  // "notrack jmp": a prefix is a word of its own.
  const bool is_jump = one.mnemonic.starts_with('j') || one.mnemonic == "notrack" || one.mnemonic == "bnd";
  if ((!is_call && !is_jump) || hook_called(one.text) != observe::Hook::none) return;
  const auto operand = one.last();
  if (one.operands.size() != 1 || is_computed(operand) || (is_jump && !one.mnemonic.starts_with('j')))
    calls.computed = true;
  else if (!is_label_of_function(operand))
    calls.operands.insert(operand);
}

bool CallDepths::is_bounded(std::string_view operand) {
  if (is_computed(operand)) return false;
  if (is_leaf_of_program(operand)) return true;
  // A call through the procedure linkage table may be interposed by another file.
  return operand.find('@') == std::string_view::npos && is_function_bounded(operand);
}

bool CallDepths::is_function_bounded(std::string_view name) {
  const auto found = functions_.find(name);
  if (found == functions_.end()) return false;
  const auto [depth, is_new] = depths_.emplace(name, Depth::running);
  if (!is_new) return depth->second == Depth::bounded;
  const auto& calls = found->second;
  const bool bounded = !calls.computed && std::ranges::all_of(calls.operands, [this](std::string_view operand) {
    return is_bounded(operand);
  });
  depth->second = bounded ? Depth::bounded : Depth::unbounded;
  return bounded;
}

}  // namespace terrace::cli
