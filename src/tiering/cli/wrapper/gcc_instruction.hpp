// SPDX-License-Identifier: Apache-2.0
// Parses and classifies instructions of gcc's x86-64 assembly (AT&T syntax, with -dp), for the assembler stand-in,
// which restores tail calls in it (tail_calls.hpp).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace terrace::cli {

inline constexpr int k_word = 8;  // bytes of a saved register

// An instruction; a line without one has an empty mnemonic. Views into the line.
struct Instruction {
  std::string_view mnemonic;
  std::string_view text;                   // mnemonic and operands, without comments
  std::vector<std::string_view> operands;  // in AT&T's order: sources first
  std::string_view pattern;                // gcc's name of the instruction pattern, or ""

  [[nodiscard]] std::string_view last() const { return operands.empty() ? std::string_view{} : operands.back(); }
};

// Begins the cost of an instruction in the comments of gcc -dp.
inline constexpr std::string_view k_cost = "\t[c=";

// Returns where the comment of -dp begins: "\t# 55\t[c=4 l=3]  *movdi_internal/3"; the line's size without one.
std::size_t find_comment(std::string_view line);
// Parses a line of the assembly.
Instruction parse_instruction(std::string_view line);
// Returns the value of an immediate operand, such as "$8".
std::optional<int> immediate(std::string_view operand);
// Returns whether an operand is a slot of the stack frame.
bool is_slot(std::string_view operand);
// Returns the register that a name is part of: "a" for "%eax" and "%al"; "" for unknown names.
std::string_view whole_register(std::string_view operand);
// Returns whether a register is callee-saved; the stack pointer aside.
bool is_preserved(std::string_view whole);
// Returns whether a register returns values.
bool returns_values(std::string_view whole);
// Returns the bytes that a pattern copies unchanged: 4 for "*movsi_internal/0"; 0 for conversions and others.
int copied_bytes(std::string_view pattern);
// Returns whether an instruction refers to the hook of that name.
bool is_hook(const Instruction& one, std::string_view name);
// Returns whether a call is indirect: its target is in a register or in memory, not a named function.
bool is_computed(std::string_view operand);
// Returns whether an operand of a call names a function that returns without calling the program: of terrace.h, of
// libm, of memory and strings, and allocators.
bool is_leaf_of_program(std::string_view operand);
// Returns whether the text calls a function that returns twice, as setjmp does.
bool returns_twice(std::string_view text);
// Returns whether the text is part of a thread-local access sequence, which the linker may rewrite (TLS
// relaxation).
bool is_linkers(std::string_view text);
// Returns the text without blanks and tabs at both ends.
std::string_view trim_blanks(std::string_view text);

}  // namespace terrace::cli
