// SPDX-License-Identifier: Apache-2.0
// Analyses how a function uses its stack frame, to decide which calls can be tail calls. Used by tail_calls.cpp in
// the assembler stand-in.
#pragma once

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "cli/wrapper/gcc_instruction.hpp"

namespace terrace::cli {

inline constexpr std::string_view k_entry_hook = "__tsan_func_entry";

// The stack frame of one function: its size, and whether its address may be known elsewhere.
class StackFrame {
 public:
  explicit StackFrame(const std::vector<Instruction>& code) {
    for (const auto& one : code) {
      if (one.mnemonic.empty()) continue;
      if (returns_twice(one.text) && one.mnemonic.starts_with("call")) usable_ = false;
      if (!is_entered_)
        analyze_prologue(one);
      else
        analyze_body(one);
      if (!usable_) return;
    }
    for (const auto& slot : stored_)
      if (!loaded_.contains(slot)) escapes_ = true;  // maybe a parameter
  }
  // Returns whether there is one entry hook, and the frame is built before it.
  [[nodiscard]] bool is_usable() const { return usable_ && is_entered_; }
  // Returns whether an address within the frame may be known elsewhere.
  [[nodiscard]] bool escapes() const { return escapes_; }
  [[nodiscard]] bool has_pointer() const { return has_pointer_; }
  [[nodiscard]] bool grows_later() const { return grows_later_; }
  [[nodiscard]] int bytes() const { return bytes_; }

 private:
  // Analyses an instruction before the entry hook, where the frame is built.
  void analyze_prologue(const Instruction& one) {
    if (one.mnemonic == "call") {
      is_entered_ = is_hook(one, k_entry_hook);
      usable_ = is_entered_;
    } else if (one.mnemonic.starts_with('j') || one.mnemonic.starts_with("ret")) {
      usable_ = false;
    } else if (one.mnemonic.starts_with("push")) {
      bytes_ += k_word;
    } else if (one.text.starts_with("subq\t") && one.last() == "%rsp") {
      const auto size = immediate(one.operands.front());
      usable_ = size.has_value();
      bytes_ += size.value_or(0);
    } else if (one.text.starts_with("addq\t$-") && one.last() == "%rsp") {
      const auto size = immediate(one.operands.front());
      usable_ = size.has_value();
      bytes_ -= size.value_or(0);
    } else if (one.operands.size() == 2 && one.operands[0] == "%rsp" && one.operands[1] == "%rbp") {
      has_pointer_ = true;
    } else {
      note_references(one);
    }
  }
  // Analyses an instruction behind the entry hook.
  void analyze_body(const Instruction& one) {
    const bool pushes = one.mnemonic.starts_with("push");
    const bool moves_pointer = one.operands.size() == 2 && one.last() == "%rsp";
    const auto by = moves_pointer ? immediate(one.operands.front()) : std::nullopt;
    if (one.mnemonic == "call" && is_hook(one, k_entry_hook)) usable_ = false;
    if (pushes || (by && (one.mnemonic == "subq") == (*by > 0))) grows_later_ = true;
    if (by || pushes || one.mnemonic.starts_with("pop") || one.mnemonic == "leave") {
      if (pushes) note_references(one);
      return;
    }
    const bool restores = moves_pointer && (one.operands[0] == "%rbp" || is_slot(one.operands[0])) &&
                          (one.mnemonic == "movq" || one.mnemonic == "leaq");
    if (!restores) note_references(one);
  }
  // Notes which slots an instruction stores and loads, and whether it takes an address within the frame.
  void note_references(const Instruction& one) {
    for (std::size_t i = 0; i < one.operands.size(); ++i) {
      auto operand = one.operands[i];
      if (operand.starts_with('*')) operand.remove_prefix(1);
      const bool in_memory = operand.find('(') != std::string_view::npos;
      const bool of_stack = operand.find("%rsp") != std::string_view::npos || operand.find("%esp") != operand.npos;
      const bool of_pointer = has_pointer_ && !in_memory && whole_register(operand) == "bp";
      const bool through_pointer = has_pointer_ && in_memory && operand.find("%rbp") != std::string_view::npos;
      if (!of_stack && !of_pointer && !through_pointer) continue;
      if (one.mnemonic.starts_with("push")) {
        if (!in_memory && !of_pointer) escapes_ = true;
      } else if (!in_memory || one.mnemonic.starts_with("lea")) {
        escapes_ = true;
      } else if (operand.ends_with("(%rsp)")) {
        const bool stores = i + 1 == one.operands.size() && i > 0;
        if (stores) stored_.insert(operand);
        if (!stores || one.mnemonic.find("mov") == std::string_view::npos) loaded_.insert(operand);
      }
    }
  }

  bool usable_ = true;
  bool is_entered_ = false;
  bool has_pointer_ = false;  // %rbp
  bool grows_later_ = false;  // for parameters
  bool escapes_ = false;
  int bytes_ = 0;
  std::set<std::string_view> stored_, loaded_;  // slots addressed by the stack pointer
};

using Lines = std::span<const std::string_view>;

}  // namespace terrace::cli
