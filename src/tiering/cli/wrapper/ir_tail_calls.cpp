// SPDX-License-Identifier: Apache-2.0
// Restores tail calls in LLVM IR, which it edits line by line, for the assembler stand-in of clang. See
// ir_tail_calls.hpp.
#include "cli/wrapper/ir_tail_calls.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "cli/wrapper/assembly_text.hpp"
#include "cli/wrapper/call_depth.hpp"
#include "cli/wrapper/gcc_instruction.hpp"

namespace terrace::cli {

namespace {

using IrLines = std::span<const std::string_view>;

constexpr std::string_view k_entry_hook = "@__tsan_func_entry(";
constexpr std::string_view k_ir_exit_hook = "@__tsan_func_exit(";
constexpr int k_max_ir_walk = 64;  // lines behind a call

bool has(std::string_view line, std::string_view part) { return line.find(part) != std::string_view::npos; }

// Returns whether a line has a name between two texts.
bool has_between(std::string_view line, std::string_view before, std::string_view name, std::string_view behind) {
  for (auto at = line.find(name); at != std::string_view::npos; at = line.find(name, at + 1))
    if (line.substr(0, at).ends_with(before) && line.substr(at + name.size()).starts_with(behind)) return true;
  return false;
}

// Returns the name of a value or block at `begin`, with its sigil: "%5", "%call.i", "@f", "%\"a b\"".
std::string_view name_at(std::string_view line, std::size_t begin) {
  if (begin >= line.size()) return {};
  std::size_t end = begin + 1;
  if (end < line.size() && line[end] == '"') {
    end = line.find('"', end + 1);
    return end == std::string_view::npos ? std::string_view{} : line.substr(begin, end + 1 - begin);
  }
  const auto in_name = [](char c) { return is_word(c) || c == '-'; };
  while (end < line.size() && in_name(line[end])) ++end;
  return line.substr(begin, end - begin);
}

// Returns the result of an instruction: "%5" of "  %5 = ..."; "" for other lines.
std::string_view result_of(std::string_view line) {
  const auto begin = line.find_first_not_of(' ');
  if (begin == std::string_view::npos || line[begin] != '%') return {};
  const auto name = name_at(line, begin);
  return line.substr(begin + name.size()).starts_with(" = ") ? name : std::string_view{};
}

// Returns the instruction of a line, without its result: "tail call void @f()".
std::string_view operation_of(std::string_view line) {
  const auto result = result_of(line);
  if (!result.empty()) line.remove_prefix(line.find(result) + result.size() + 3);
  return trim_blanks(line);
}

// Returns the block that a line begins: "4" of "4:   ; preds = %2"; "" for other lines.
std::string_view block_begun(std::string_view line) {
  if (line.empty() || line[0] == ' ') return {};
  const auto end = line[0] == '"' ? line.find('"', 1) + 1 : name_at(line, 0).size();
  return end != 0 && line.substr(end).starts_with(':') ? line.substr(0, end) : std::string_view{};
}

constexpr std::string_view k_computed = "*";  // as in assembly

// Returns the function that a call names, without its sigil; k_computed for an indirect call.
std::string_view callee_of(std::string_view line) {
  for (auto at = line.find('@'); at != std::string_view::npos; at = line.find('@', at + 1)) {
    const auto name = name_at(line, at);
    if (!name.empty() && line.substr(at + name.size()).starts_with('(')) return name.substr(1);
  }
  return k_computed;
}

bool is_call(std::string_view operation) {
  for (const std::string_view begin : {"tail call ", "call ", "musttail call ", "notail call ", "invoke "})
    if (operation.starts_with(begin)) return true;
  return false;
}

bool is_intrinsic(std::string_view callee) { return callee.starts_with("llvm."); }

bool is_any_hook(std::string_view callee) {
  return callee.starts_with("__tsan_") || callee.starts_with("__sanitizer_cov_");
}

// Calls `each` with the attribute groups that a line names: "#4".
template <class Each>
void for_each_group(std::string_view line, Each each) {
  for (auto at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1))
    if (const auto group = name_at(line, at); group.size() > 1) each(group);
}

// Attributes of a module that forbid tail calls.
class IrModule {
 public:
  explicit IrModule(const std::vector<std::string_view>& lines) {
    for (const auto line : lines) {
      if (!line.starts_with("attributes #")) continue;
      const auto group = name_at(line, line.find('#'));
      if (has(line, "returns_twice")) returns_twice_.insert(group);
      if (has(line, "\"disable-tail-calls\"=\"true\"")) no_tail_calls_.insert(group);
    }
  }
  [[nodiscard]] bool calls_return_twice(std::string_view line) const { return names(line, returns_twice_); }
  [[nodiscard]] bool forbids_tail_calls(std::string_view define) const { return names(define, no_tail_calls_); }

 private:
  static bool names(std::string_view line, const std::set<std::string_view>& groups) {
    bool found = false;
    if (!groups.empty()) for_each_group(line, [&](std::string_view group) { found |= groups.contains(group); });
    return found;
  }
  std::set<std::string_view> returns_twice_, no_tail_calls_;
};

// Builds the call graph of functions that cannot be interposed.
CallDepths build_call_depths(const std::vector<std::string_view>& lines) {
  std::map<std::string_view, CallDepths::Calls> functions;
  CallDepths::Calls* calls = nullptr;
  for (const auto line : lines) {
    if (line.starts_with("define ")) {
      const auto head = line.substr(0, line.find('@'));
      const bool own = has(head, " internal ") || has(head, " private ") || has(head, " dso_local ");
      calls = own ? &functions[callee_of(line)] : nullptr;
    } else if (line.starts_with('}')) {
      calls = nullptr;
    } else if (calls != nullptr && is_call(operation_of(line))) {
      const auto callee = callee_of(line);
      if (is_intrinsic(callee) || is_any_hook(callee)) continue;
      if (callee == k_computed)
        calls->computed |= !has(line, " asm ");
      else
        calls->operands.insert(callee);
    }
  }
  return CallDepths(std::move(functions));
}

// Finds the calls of one function that can become tail calls, and edits their lines.
class IrTailCalls {
 public:
  IrTailCalls(IrLines lines, const IrModule& module, CallDepths& depths, int& number)
      : lines_(lines), module_(module), depths_(depths), number_(number) {
    for (std::size_t i = 0; i < lines_.size(); ++i)
      if (const auto block = block_begun(lines_[i]); !block.empty()) blocks_.emplace(block, i);
  }

  // Returns the replacement of each line that changes.
  std::map<std::size_t, std::string> replacements() {
    std::map<std::size_t, std::string> found;
    if (!is_usable()) return found;
    for (std::size_t i = 1; i < lines_.size(); ++i) {
      const auto operation = operation_of(lines_[i]);
      const bool invokes = operation.starts_with("invoke ");
      if (!operation.starts_with("tail call ") && !(invokes && !has_frame_)) continue;
      const auto callee = callee_of(operation);
      if (is_intrinsic(callee) || is_any_hook(callee) || depths_.is_bounded(callee)) continue;
      if (auto end = end_behind(i, invokes)) replace(i, invokes, *end, found);
    }
    return found;
  }

 private:
  // The path from a call to the function's return.
  struct ReturnPath {
    std::size_t leaves_block = 0;  // the line that ends the call's block; 0: none before the return
    std::size_t exit_hook = 0;
    std::string_view value;   // of the call, in its block; "" where the function returns none
    std::string_view result;  // the line of the return
  };

  // Returns whether the function has hooks and nothing that forbids tail calls; also sets has_frame_.
  bool is_usable() {
    bool enters = false;
    const auto head = lines_[0];
    if (module_.forbids_tail_calls(head)) return false;
    has_frame_ = has(head, " byval(") || has(head, " inalloca(") || has(head, " preallocated(");
    for (const auto line : lines_.subspan(1)) {
      const auto operation = operation_of(line);
      enters |= has(operation, k_entry_hook);
      has_frame_ |= operation.starts_with("alloca ");
      if (is_call(operation) && (module_.calls_return_twice(operation) || returns_twice(callee_of(operation))))
        return false;
    }
    return enters;
  }

  // Returns the first line of the block that "label %4" names.
  [[nodiscard]] std::optional<std::size_t> behind_label(std::string_view line, std::string_view before) const {
    const auto at = line.find(before);
    if (at == std::string_view::npos) return std::nullopt;
    const auto name = name_at(line, at + before.size());
    const auto found = name.empty() ? blocks_.end() : blocks_.find(name.substr(1));
    return found == blocks_.end() ? std::nullopt : std::optional(found->second + 1);
  }

  // Returns whether an operation is a basic block's hook, or generates no code.
  static bool is_neutral(std::string_view operation) {
    if (operation.empty() || operation.starts_with(';') || operation.starts_with("#dbg_")) return true;
    if (!operation.starts_with("call ") && !operation.starts_with("tail call ")) return false;
    return has(operation, "@__sanitizer_cov_trace_pc(") || has(operation, "@llvm.dbg.") ||
           has(operation, "@llvm.lifetime.end") || has(operation, "@llvm.assume(");
  }

  // Returns whether a landing pad only calls the exit hook and resumes the exception.
  [[nodiscard]] bool only_leaves(std::size_t at) const {
    bool leaves = false;
    for (int steps = 0; steps < k_max_ir_walk && at < lines_.size(); ++steps, ++at) {
      const auto operation = operation_of(lines_[at]);
      if (operation.starts_with("resume ")) return leaves;
      if (operation.starts_with("landingpad ") || operation == "cleanup" || is_neutral(operation)) continue;
      if (!operation.starts_with("call ") || !has(operation, k_ir_exit_hook)) return false;
      leaves = true;
    }
    return false;
  }

  // Follows the lines behind a call to the return. Returns nothing if more than hooks lies between.
  [[nodiscard]] std::optional<ReturnPath> end_behind(std::size_t call, bool invokes) const {
    ReturnPath end;
    std::size_t at = call + 1;
    std::string_view known = result_of(lines_[call]);
    end.value = known;
    if (invokes) {
      if (at >= lines_.size()) return std::nullopt;
      const auto pad = behind_label(lines_[at], " unwind label ");
      const auto next = behind_label(lines_[at], " to label ");
      if (!pad || !next || !only_leaves(*pad) || has(lines_[at], "!prof")) return std::nullopt;
      end.leaves_block = at;
      at = *next;
    }
    for (int steps = 0; steps < k_max_ir_walk && at < lines_.size(); ++steps) {
      const auto line = lines_[at];
      const auto operation = operation_of(line);
      if (end.exit_hook == 0 && operation.starts_with("br label ")) {
        const auto next = behind_label(operation, "br label ");
        if (!next || has(operation, "!llvm.loop")) return std::nullopt;
        if (end.leaves_block == 0) end.leaves_block = at;
        at = *next;
        continue;
      }
      if (end.exit_hook == 0 && has(operation, k_ir_exit_hook) && is_call(operation) &&
          !operation.starts_with("invoke ")) {
        end.exit_hook = at;
      } else if (operation.starts_with("ret ")) {
        const bool is_void = operation.starts_with("ret void");
        end.result = operation;
        if (is_void) end.value = {};
        const bool same = is_void || (!known.empty() && returned(operation) == known);
        return end.exit_hook != 0 && same ? std::optional(end) : std::nullopt;
      } else if (operation.starts_with("phi ")) {
        if (!known.empty() && has_between(operation, "[ ", known, ", ")) known = result_of(line);
      } else if (!known.empty() && end.leaves_block == 0 && operation.starts_with("bitcast ") &&
                 has_between(operation, " ", known, " to ")) {
        known = end.value = result_of(line);
      } else if (!is_neutral(operation)) {
        return std::nullopt;
      }
      ++at;
    }
    return std::nullopt;
  }
  // Returns the value of a return: "%5" of "ret i64 %5, !dbg !12".
  static std::string_view returned(std::string_view operation) {
    operation = operation.substr(0, operation.find(", !"));
    const auto at = operation.rfind(' ');
    return operation.substr(at + 1);
  }

  // Moves the exit hook before the call, and returns behind it, in a block of its own where needed.
  void replace(std::size_t call, bool invokes, const ReturnPath& end, std::map<std::size_t, std::string>& found) {
    auto hook = std::string(lines_[end.exit_hook]) + "\n";
    const auto leaves = end.leaves_block == 0 ? std::string_view{} : lines_[end.leaves_block];
    const auto at = leaves.find(", !dbg ");
    const auto location = at == std::string_view::npos ? std::string_view{} : leaves.substr(at);
    auto line = std::string(lines_[call]);
    if (invokes) line.replace(line.find("invoke "), 7, "tail call ").append(location);
    found.insert_or_assign(call, hook + line + "\n");
    if (end.leaves_block == 0) {
      found.insert_or_assign(end.exit_hook, "");
      return;
    }
    const auto before = std::string_view(invokes ? " to label " : "br label ");
    const auto target = name_at(leaves, leaves.find(before) + before.size());
    const auto block = "terrace.tail." + std::to_string(++number_);
    auto result = std::string(end.result);
    if (!end.value.empty()) {
      const auto old = returned(end.result);
      result.replace(static_cast<std::size_t>(old.data() - end.result.data()), old.size(), end.value);
    }
    const auto branch = "  br i1 true, label %" + block + ", label " + std::string(target) + std::string(location);
    found.insert_or_assign(end.leaves_block, branch + "\n\n" + block + ":\n  " + result + "\n");
  }

  IrLines lines_;
  const IrModule& module_;
  CallDepths& depths_;
  int& number_;                                     // of added blocks
  std::map<std::string_view, std::size_t> blocks_;  // their lines
  bool has_frame_ = false;                          // in memory, whose address may be known elsewhere
};

}  // namespace

bool is_ir(std::string_view text) {
  return text.starts_with("; ModuleID = ") || text.starts_with("source_filename = ");
}

std::string restore_ir_tail_calls(std::string_view ir) {
  std::vector<std::string_view> lines;
  for_each_line(ir, [&](std::string_view line) { lines.push_back(line); });
  const IrModule module(lines);
  CallDepths depths = build_call_depths(lines);
  std::string out;
  out.reserve(ir.size() + ir.size() / 16);
  int number = 0;
  for (std::size_t i = 0; i < lines.size();) {
    std::size_t end = i + 1;
    std::map<std::size_t, std::string> replaced;
    if (lines[i].starts_with("define ")) {
      while (end < lines.size() && !lines[end].starts_with('}')) ++end;
      const auto body = IrLines(lines).subspan(i, end - i);
      replaced = IrTailCalls(body, module, depths, number).replacements();
    }
    for (const auto begin = i; i < end; ++i) {
      const auto found = replaced.find(i - begin);
      if (found != replaced.end())
        out += found->second;
      else
        out.append(lines[i]).push_back('\n');
    }
  }
  return out;
}

}  // namespace terrace::cli
