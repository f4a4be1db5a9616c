// SPDX-License-Identifier: Apache-2.0
// Parses and classifies instructions of gcc's x86-64 assembly, for the restorer of tail calls: tables of
// registers, patterns and functions. See gcc_instruction.hpp.
#include "cli/wrapper/gcc_instruction.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "cli/wrapper/assembly_text.hpp"
#include "machine/library.hpp"

namespace terrace::cli {

std::string_view trim_blanks(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

namespace {

std::string_view pattern_of(std::string_view line) {
  const auto cost = line.rfind(k_cost);
  if (cost == std::string_view::npos) return {};
  const auto begin = line.find("]  ", cost);
  return begin == std::string_view::npos ? std::string_view{} : trim_blanks(line.substr(begin + 3));
}

}  // namespace

std::size_t find_comment(std::string_view line) {
  const auto cost = line.rfind(k_cost);
  if (cost == std::string_view::npos) return line.size();
  const auto mark = line.rfind("# ", cost);
  if (mark == std::string_view::npos || mark == 0) return line.size();
  const auto end = line.find_last_not_of(" \t", mark - 1);
  return end == std::string_view::npos ? 0 : end + 1;
}

// Splits a line into mnemonic and operands, at commas outside of parentheses: "8(%rax,%rbx), %rcx" has two.
Instruction parse_instruction(std::string_view line) {
  Instruction one{.mnemonic = mnemonic_of(line), .text = {}, .operands = {}, .pattern = pattern_of(line)};
  const auto code = line.substr(0, find_comment(line));
  if (one.mnemonic.empty()) return one;
  one.text = trim_blanks(code);
  auto rest = trim_blanks(one.text.substr(one.mnemonic.size()));
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= rest.size(); ++i) {
    if (i == rest.size() || (rest[i] == ',' && depth == 0)) {
      if (const auto operand = trim_blanks(rest.substr(begin, i - begin)); !operand.empty())
        one.operands.push_back(operand);
      begin = i + 1;
    } else if (rest[i] == '(') {
      ++depth;
    } else if (rest[i] == ')') {
      --depth;
    }
  }
  return one;
}

std::optional<int> immediate(std::string_view operand) {
  if (!operand.starts_with('$')) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(operand.data() + 1, operand.data() + operand.size(), value);
  return error == std::errc{} && end == operand.data() + operand.size() ? std::optional(value) : std::nullopt;
}

bool is_slot(std::string_view operand) { return operand.ends_with("(%rsp)") || operand.ends_with("(%rbp)"); }

std::string_view whole_register(std::string_view operand) {
  struct Names {
    std::string_view whole;
    std::array<std::string_view, 4> parts;
  };
  static constexpr std::array<Names, 8> k_old{{{"a", {"%rax", "%eax", "%ax", "%al"}},
                                               {"d", {"%rdx", "%edx", "%dx", "%dl"}},
                                               {"c", {"%rcx", "%ecx", "%cx", "%cl"}},
                                               {"b", {"%rbx", "%ebx", "%bx", "%bl"}},
                                               {"si", {"%rsi", "%esi", "%si", "%sil"}},
                                               {"di", {"%rdi", "%edi", "%di", "%dil"}},
                                               {"bp", {"%rbp", "%ebp", "%bp", "%bpl"}},
                                               {"sp", {"%rsp", "%esp", "%sp", "%spl"}}}};
  for (const auto& names : k_old)
    if (std::ranges::count(names.parts, operand) != 0) return names.whole;
  if (operand.starts_with("%xmm")) return operand.substr(1);
  if (!operand.starts_with("%r")) return {};
  auto digits = operand.substr(2);  // %r12, %r12d
  if (digits.ends_with('d') || digits.ends_with('w') || digits.ends_with('b')) digits.remove_suffix(1);
  const bool numbered = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  return numbered ? digits : std::string_view{};
}

bool is_preserved(std::string_view whole) {
  static constexpr std::array<std::string_view, 6> k_preserved{"b", "bp", "12", "13", "14", "15"};
  return std::ranges::count(k_preserved, whole) != 0;
}

bool returns_values(std::string_view whole) {
  return whole == "a" || whole == "d" || whole == "xmm0" || whole == "xmm1";
}

int copied_bytes(std::string_view pattern) {
  pattern = pattern.substr(0, pattern.find('/'));
  constexpr std::string_view k_begin = "*mov";
  constexpr std::string_view k_end = "_internal";
  if (!pattern.starts_with(k_begin) || !pattern.ends_with(k_end)) return 0;
  const auto mode = pattern.substr(k_begin.size(), pattern.size() - k_begin.size() - k_end.size());
  struct Mode {
    std::string_view name;
    int bytes;
  };
  static constexpr std::array<Mode, 14> k_modes{{{"qi", 1},
                                                 {"hi", 2},
                                                 {"si", 4},
                                                 {"sf", 4},
                                                 {"di", 8},
                                                 {"df", 8},
                                                 {"v2sf", 8},
                                                 {"v2si", 8},
                                                 {"ti", 16},
                                                 {"tf", 16},
                                                 {"v4sf", 16},
                                                 {"v2df", 16},
                                                 {"v4si", 16},
                                                 {"v2di", 16}}};
  const auto* const found = std::ranges::find(k_modes, mode, &Mode::name);
  return found == k_modes.end() ? 0 : found->bytes;
}

bool is_hook(const Instruction& one, std::string_view name) {
  const auto at = one.text.find(name);
  return at != std::string_view::npos && word_at(one.text, at) == name;
}

bool is_computed(std::string_view operand) {
  return operand.starts_with('*') && operand.find("(%rip)") == std::string_view::npos;
}

bool is_leaf_of_program(std::string_view operand) {
  static constexpr auto k_names = std::to_array<std::string_view>(
      {"malloc",  "calloc", "realloc", "reallocarray", "aligned_alloc", "posix_memalign", "memalign", "valloc",
       "free",    "strdup", "strndup", "memcpy",       "memmove",       "memset",         "memcmp",   "memchr",
       "bcmp",    "strlen", "strcmp",  "strncmp",      "strcpy",        "strncpy",        "strcat",   "strchr",
       "strrchr", "sqrt",   "sqrtf",   "fabs",         "fabsf",         "floor",          "floorf",   "ceil",
       "ceilf",   "round",  "roundf",  "trunc",        "truncf",        "fmod",           "fmodf",    "fma",
       "fmaf"});
  static constexpr auto k_operators = std::to_array<std::string_view>({"_Znw", "_Zna", "_Zdl", "_Zda"});
  if (operand.starts_with('*')) operand.remove_prefix(1);
  const auto name = operand.substr(0, operand.find_first_of("@("));
  const auto begins = [name](std::string_view begin) { return name.starts_with(begin); };
  return begins("terrace_") || std::ranges::count(k_names, name) != 0 ||
         std::ranges::any_of(k_operators, begins) ||
         std::ranges::count(machine::k_library, name, &machine::LibraryFunctionFacts::name) != 0;
}

bool returns_twice(std::string_view text) {
  for (const std::string_view name : {"setjmp", "vfork", "getcontext", "savectx"})
    if (text.find(name) != std::string_view::npos) return true;
  return false;
}
bool is_linkers(std::string_view text) {
  return text.find("__tls_get_addr") != std::string_view::npos || text.find("@TLS") != std::string_view::npos ||
         text.find("@tls") != std::string_view::npos;
}

}  // namespace terrace::cli
