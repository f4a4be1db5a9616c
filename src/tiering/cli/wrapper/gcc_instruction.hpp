// Parses instructions of gcc's x86-64 assembly (AT&T syntax, with -dp), and tells what they are for tail calls
// (tail_calls.hpp).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace terrace::cli {

inline constexpr int k_word = 8;  // bytes of a saved register

// An instruction, or what takes its place in a line.
struct Instruction {
  std::string_view mnemonic;
  std::string_view text;                   // from the mnemonic on, without comments
  std::vector<std::string_view> operands;  // in AT&T's order: sources first
  std::string_view pattern;                // the compiler's name of it, or ""

  [[nodiscard]] std::string_view last() const { return operands.empty() ? std::string_view{} : operands.back(); }
};

Instruction parse_instruction(std::string_view line);
std::optional<int> immediate(std::string_view operand);
bool is_slot(std::string_view operand);
// The register that a name means, whatever part of it: "%eax" and "%al" are "a". "" for what is not known.
std::string_view whole_register(std::string_view operand);
// Registers that a function must give back as it found them, beside the stack pointer.
bool is_preserved(std::string_view whole);
bool returns_values(std::string_view whole);
// Bytes that a pattern copies unchanged; 0 where it is no plain copy: "*movsi_internal/0" copies four.
int copied_bytes(std::string_view pattern);
bool is_hook(const Instruction& one, std::string_view name);
// Returns whether a call goes to where a register or memory says, and not to a function that is named.
bool is_computed(std::string_view operand);
// Returns whether an operand of a call names a function that returns without calling the program: of terrace.h, of
// libm, of memory and strings, and allocators.
bool is_leaf_of_program(std::string_view operand);
// Returns whether the text calls a function that returns twice, as setjmp does.
bool returns_twice(std::string_view text);
// Returns whether the text is part of a thread-local access sequence, which the linker may rewrite (TLS
// relaxation).
bool is_linkers(std::string_view text);
std::string_view trim_blanks(std::string_view text);

}  // namespace terrace::cli
