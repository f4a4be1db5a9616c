// SPDX-License-Identifier: Apache-2.0
// Restores, in gcc's assembly, tail calls that the hook of a function's exit prevents: finds calls in tail
// position behind hooks, and their epilogues. Called by the assembler stand-in. See tail_calls.hpp.
#include "cli/wrapper/tail_calls.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "cli/wrapper/assembly_text.hpp"
#include "cli/wrapper/call_depth.hpp"
#include "cli/wrapper/gcc_instruction.hpp"
#include "cli/wrapper/stack_frame.hpp"

namespace terrace::cli {

namespace {

using observe::Hook;

constexpr std::string_view k_exit_hook = "__tsan_func_exit";
constexpr int k_max_walk = 64;  // instructions behind a call; an epilogue has less than twenty

// Finds the calls of one function that can be jumps.
class TailCallFinder {
 public:
  TailCallFinder(std::string_view name, Lines lines, CallDepths& depths)
      : name_(name), lines_(lines), depths_(depths) {
    code_.reserve(lines.size());
    bool own_assembly = false;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      code_.push_back(parse_instruction(lines_[i]));
      if (lines_[i].starts_with("#APP")) own_assembly = true;
      if (own_assembly) own_assembly_.insert(i);
      if (lines_[i].starts_with("#NO_APP")) own_assembly = false;
      if (const auto label = any_label_of(lines_[i]); !label.empty()) labels_.emplace(label, i);
      const auto directive = first_word_of(lines_[i]);
      if (directive == ".cfi_lsda") has_handlers_ = true;
      if (directive == ".cfi_startproc") has_frames_ = true;
    }
  }

  // Returns the replacement of each line that changes.
  [[nodiscard]] std::map<std::size_t, std::string> replacements() const {
    std::map<std::size_t, std::string> found;
    const StackFrame frame(code_);
    if (!frame.is_usable()) return found;
    for (std::size_t i = 0; i < code_.size(); ++i) {
      const auto& one = code_[i];
      if (one.mnemonic != "call" || one.operands.size() != 1 || own_assembly_.contains(i)) continue;
      if (hook_called(one.text) != Hook::none || is_linkers(one.text) || depths_.is_bounded(one.operands[0]))
        continue;
      const bool resumes = resumes_coroutine(i);
      if (!resumes && (frame.escapes() || !passes_exceptions(i))) continue;
      if (const auto epilogue = epilogue_behind(i, frame)) found.emplace(i, jump(one, *epilogue));
    }
    return found;
  }

 private:
  // Returns whether a call resumes another coroutine. gcc names the parts of a coroutine "actor"; it resumes
  // another one through the first word of that one's frame, and keeps its own state in its frame, which is not on
  // the stack.
  [[nodiscard]] bool resumes_coroutine(std::size_t call) const {
    const auto target = code_[call].operands[0];
    return name_.find(".actor") != std::string_view::npos && is_computed(target);
  }

  // Returns whether an exception from this call propagates to the caller, neither handled here nor fatal.
  [[nodiscard]] bool passes_exceptions(std::size_t call) const {
    if (!has_handlers_) return true;
    // The table of calls: begin, length, landing pad (0: none), action; a call in no line of it must not throw.
    std::size_t seen = 0;
    for (std::size_t i = 0; i + 3 < lines_.size(); ++i) {
      const auto begin = difference(lines_[i]);
      if (begin.empty() || !begin.starts_with(".LEHB")) continue;
      const auto end = difference(lines_[i + 1]);
      const auto from = labels_.find(begin);
      const auto to = labels_.find(end);
      if (from == labels_.end() || to == labels_.end()) continue;
      if (call < from->second || call > to->second) continue;
      ++seen;
      const auto pad = difference(lines_[i + 2]);
      if (pad.empty() ? trim_blanks(lines_[i + 2]) != ".uleb128 0" : !only_leaves(pad)) return false;
    }
    return seen == 1;
  }
  // Returns the first label of ".uleb128 .LEHB0-.LFB3"; "" for other lines.
  static std::string_view difference(std::string_view line) {
    if (first_word_of(line) != ".uleb128") return {};
    const auto begin = line.find(".L");
    return begin == std::string_view::npos ? std::string_view{} : word_at(line, begin);
  }
  // Returns whether a landing pad only calls the exit hook and resumes the exception.
  [[nodiscard]] bool only_leaves(std::string_view pad) const {
    auto found = labels_.find(pad);
    if (found == labels_.end()) return false;
    std::size_t at = found->second;
    for (int steps = 0; steps < k_max_walk && ++at < code_.size(); ++steps) {
      const auto& one = code_[at];
      if (one.mnemonic.empty() || one.mnemonic == "endbr64") continue;
      if (one.mnemonic == "jmp") {
        found = labels_.find(one.last());
        if (found == labels_.end()) return false;
        at = found->second;
      } else if (one.mnemonic == "call") {
        if (is_hook(one, "_Unwind_Resume")) return true;
        const bool known = is_hook(one, k_exit_hook) || hook_called(one.text) == Hook::block;
        if (!known) return false;
      } else if (!one.mnemonic.starts_with("mov") || one.operands.size() != 2 ||
                 whole_register(one.operands[0]).empty() || whole_register(one.operands[1]).empty()) {
        return false;
      }
    }
    return false;
  }

  // A register or slot that holds a value that the callee returned.
  struct ReturnedValue {
    std::string_view of;
    int bytes;
  };
  // State of the walk from a call to the return.
  struct EpilogueWalk {
    std::map<std::string_view, ReturnedValue> values{
        {"a", {"a", 8}}, {"d", {"d", 8}}, {"xmm0", {"xmm0", 16}}, {"xmm1", {"xmm1", 16}}};
    std::set<std::string_view> others;  // return registers that hold another value
    std::vector<std::string> epilogue;
    int freed = 0;
    bool by_pointer = false;  // the frame is released by %rbp
    bool exits = false;
  };

  // Returns the instructions that release the frame, or nullopt if the function does more after the call.
  [[nodiscard]] std::optional<std::vector<std::string>> epilogue_behind(std::size_t call,
                                                                        const StackFrame& frame) const {
    EpilogueWalk walk;
    std::size_t at = call;
    for (int steps = 0; steps < k_max_walk && ++at < lines_.size(); ++steps) {
      const auto& one = code_[at];
      if (own_assembly_.contains(at)) return std::nullopt;
      if (one.mnemonic.empty()) {
        keep_directive(lines_[at], walk);
        --steps;
        continue;
      }
      if (one.mnemonic == "ret") return is_complete(walk, frame) ? std::optional(walk.epilogue) : std::nullopt;
      if (one.mnemonic == "jmp") {
        if (is_hook(one, k_exit_hook)) {
          walk.exits = true;
          forget_clobbered(walk);
          return is_complete(walk, frame) ? std::optional(walk.epilogue) : std::nullopt;
        }
        const auto found = labels_.find(one.last());
        if (found == labels_.end()) return std::nullopt;
        at = found->second;
        continue;
      }
      if (!step(one, walk)) return std::nullopt;
    }
    return std::nullopt;
  }
  // Follows one instruction behind the call. Returns false if it is not part of hooks or epilogue.
  static bool step(const Instruction& one, EpilogueWalk& walk) {
    if (one.mnemonic == "call") {
      const bool exits = is_hook(one, k_exit_hook);
      if (!exits && hook_called(one.text) != Hook::block) return false;
      walk.exits |= exits;
      forget_clobbered(walk);
      return true;
    }
    if (one.mnemonic == "nop" || one.mnemonic == "vzeroupper") return true;
    if (one.mnemonic == "leave") {
      walk.by_pointer = true;
      walk.epilogue.emplace_back(one.text);
      return true;
    }
    if (one.mnemonic == "popq" && one.operands.size() == 1) return pop(one, walk);
    if (one.operands.size() != 2) return false;
    if (one.last() == "%rsp") return move_pointer(one, walk);
    return copy(one, walk);
  }
  // Follows a popq, which restores a saved register or only frees a word. Returns false for others.
  static bool pop(const Instruction& one, EpilogueWalk& walk) {
    const auto to = whole_register(one.operands[0]);
    if (to.empty() || to == "sp") return false;
    walk.freed += k_word;
    if (is_preserved(to)) {
      walk.epilogue.emplace_back(one.text);
    } else {  // only to free a word; the register has one of the callee's parameters
      walk.values.erase(to);
      walk.epilogue.emplace_back("leaq\t8(%rsp), %rsp");
    }
    return true;
  }
  // Follows an instruction that releases stack by moving %rsp.
  static bool move_pointer(const Instruction& one, EpilogueWalk& walk) {
    if (const auto by = immediate(one.operands[0])) {
      if (one.mnemonic != "addq" && one.mnemonic != "subq") return false;
      walk.freed += one.mnemonic == "addq" ? *by : -*by;
    } else if ((one.mnemonic == "movq" && one.operands[0] == "%rbp") ||
               (one.mnemonic == "leaq" && one.operands[0].ends_with("(%rbp)"))) {
      walk.by_pointer = true;
    } else {
      return false;
    }
    walk.epilogue.emplace_back(one.text);
    return true;
  }
  // Follows a copy between registers and slots, which may save a returned value across a hook.
  static bool copy(const Instruction& one, EpilogueWalk& walk) {
    const auto place = [](std::string_view operand) {
      return is_slot(operand) ? operand : whole_register(operand);
    };
    const auto from = place(one.operands[0]);
    const auto to = place(one.operands[1]);
    const int bytes = copied_bytes(one.pattern);
    if (from.empty() || to.empty() || to == "sp" || bytes == 0) return false;
    const auto known = walk.values.find(from);
    if (known != walk.values.end() && known->second.bytes >= bytes) {
      walk.values.insert_or_assign(to, ReturnedValue{known->second.of, bytes});
      walk.others.erase(to);
    } else {
      const bool restores = is_slot(one.operands[0]) && is_preserved(to) && bytes == k_word;
      if (!restores && !returns_values(to)) return false;
      walk.values.erase(to);
      if (restores)
        walk.epilogue.emplace_back(one.text);
      else
        walk.others.insert(to);
    }
    return true;
  }
  static void forget_clobbered(EpilogueWalk& walk) {
    std::erase_if(walk.values,
                  [](const auto& value) { return !is_slot(value.first) && !is_preserved(value.first); });
    walk.others.clear();
  }
  static void keep_directive(std::string_view line, EpilogueWalk& walk) {
    const auto word = first_word_of(line);
    if (walk.epilogue.empty()) return;
    if (word.starts_with(".cfi_def_cfa") || word == ".cfi_restore") walk.epilogue.emplace_back(trim_blanks(line));
  }
  // Returns whether the walk passed the exit hook, released the whole frame, and returns what the callee returned.
  static bool is_complete(const EpilogueWalk& walk, const StackFrame& frame) {
    if (!walk.exits || !walk.others.empty()) return false;
    if (walk.by_pointer ? !frame.has_pointer() || frame.grows_later() : walk.freed != frame.bytes()) return false;
    // Registers of returned values hold what the callee left in them.
    return std::ranges::all_of(walk.values, [](const auto& value) {
      return !returns_values(value.first) || value.second.of == value.first;
    });
  }

  // Returns the text that replaces the call: exit hook, epilogue, jump.
  [[nodiscard]] std::string jump(const Instruction& call, const std::vector<std::string>& epilogue) const {
    std::string text = "\tcall\t*__tsan_func_exit_tail@GOTPCREL(%rip)\n";
    auto target = call.operands[0];
    const bool computed = is_computed(target);
    if (computed) text.append("\tmovq\t").append(target.substr(1)).append(", %r11\n");
    if (has_frames_) text += "\t.cfi_remember_state\n";
    for (const auto& line : epilogue) {
      if (has_frames_ || !line.starts_with(".cfi_")) text.append("\t").append(line).append("\n");
    }
    text.append("\tjmp\t").append(computed ? "*%r11" : target).append("\n");
    if (has_frames_) text += "\t.cfi_restore_state\n";
    return text;
  }

  std::string_view name_;
  Lines lines_;
  CallDepths& depths_;
  std::vector<Instruction> code_;                   // by line
  std::map<std::string_view, std::size_t> labels_;  // their lines
  std::set<std::size_t> own_assembly_;              // lines of inline assembly
  bool has_handlers_ = false;
  bool has_frames_ = false;
};

// Splits assembly into functions, and writes each with its tail calls restored.
class TailCallRestorer {
 public:
  TailCallRestorer(bool restores, CallDepths& depths) : restores_(restores), depths_(depths) {}
  void line(std::string_view line) {
    lines_.push_back(line);
    if (const auto name = function_ended_by(line); !name.empty()) end_function(name);
  }
  [[nodiscard]] std::string text() {
    write(lines_, {}, 0);
    return std::move(out_);
  }

 private:
  void end_function(std::string_view name) {
    const Lines all = lines_;
    const auto begin = static_cast<std::size_t>(std::ranges::find(all, name, any_label_of) - all.begin());
    std::map<std::size_t, std::string> replaced;
    if (restores_ && begin < all.size())
      replaced = TailCallFinder(name, all.subspan(begin), depths_).replacements();
    write(all, replaced, begin);
    lines_.clear();
  }
  void write(Lines lines, const std::map<std::size_t, std::string>& replaced, std::size_t begin) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto found = i >= begin ? replaced.find(i - begin) : replaced.end();
      if (found != replaced.end())
        out_ += found->second;
      else
        out_.append(lines[i].substr(0, find_comment(lines[i]))).push_back('\n');
    }
  }

  bool restores_;
  CallDepths& depths_;
  std::vector<std::string_view> lines_;  // since the last function's end
  std::string out_;
};

}  // namespace

// Replaces calls before exit hooks by jumps again, as in code without hooks, so that deep recursion needs no
// stack.
std::string restore_tail_calls(std::string_view assembly) {
  if (assembly.find(k_cost) == std::string_view::npos) return std::string(assembly);
  CallDepths depths(assembly);
  TailCallRestorer restorer(assembly.find(".intel_syntax") == std::string_view::npos, depths);
  for_each_line(assembly, [&](std::string_view line) { restorer.line(line); });
  return restorer.text();
}

}  // namespace terrace::cli
