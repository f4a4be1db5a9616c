// SPDX-License-Identifier: Apache-2.0
// Reads lines of assembly as compilers write them for x86-64. Used by the edits of the assembler stand-in. All
// functions return views into the line.
#pragma once

#include <cctype>
#include <string_view>

#include "observe/hooks/hook_names.hpp"

namespace terrace::cli {

// Returns whether a character may be part of a symbol.
inline bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$';
}

// Returns the symbol at `begin`.
inline std::string_view word_at(std::string_view line, std::size_t begin) {
  std::size_t end = begin;
  while (end < line.size() && is_word(line[end])) ++end;
  return line.substr(begin, end - begin);
}

// Returns the mnemonic or directive, such as "call" or ".loc"; "" for other lines.
inline std::string_view first_word_of(std::string_view line) {
  const auto begin = line.find_first_not_of(" \t");
  return begin == std::string_view::npos || begin == 0 ? std::string_view{} : word_at(line, begin);
}

// Returns the mnemonic, such as "call" or "jne"; "" for other lines.
inline std::string_view mnemonic_of(std::string_view line) {
  const auto word = first_word_of(line);
  return word.starts_with('.') ? std::string_view{} : word;
}

// Returns the label that a line defines; "" for other lines.
inline std::string_view any_label_of(std::string_view line) {
  const auto word = word_at(line, 0);
  return word.empty() || word.size() == line.size() || line[word.size()] != ':' ? std::string_view{} : word;
}

// Returns the function whose end a line marks, `.size f, .-f`; "" for other lines.
inline std::string_view function_ended_by(std::string_view line) {
  if (first_word_of(line) != ".size") return {};
  const auto begin = line.find_first_not_of(" \t", line.find(".size") + 5);
  if (begin == std::string_view::npos) return {};
  const auto name = word_at(line, begin);
  const auto size = line.find(".-", begin + name.size());
  return size != std::string_view::npos && word_at(line, size + 2) == name ? name : std::string_view{};
}

// Returns the kind of hook that a line calls.
inline observe::Hook hook_called(std::string_view line) {
  for (const std::string_view prefix : {"__tsan_", "__sanitizer_cov_"})
    if (const auto at = line.find(prefix); at != std::string_view::npos)
      return observe::hook_of(word_at(line, at));
  return observe::Hook::none;
}

// Returns the function that a call names, directly or through the global offset table; "" if it names none.
inline std::string_view function_called(std::string_view line) {
  auto begin = line.find("call");
  begin = begin == std::string_view::npos ? begin : line.find_first_of(" \t", begin);
  begin = begin == std::string_view::npos ? begin : line.find_first_not_of(" \t*[", begin);
  if (begin == std::string_view::npos) return {};
  if (constexpr std::string_view size = "QWORD PTR "; line.substr(begin).starts_with(size)) begin += size.size();
  return word_at(line, begin == line.size() || line[begin] != '[' ? begin : begin + 1);
}

// Comment behind a call of a basic block's hook that may report iterations or entries of a loop.
inline constexpr std::string_view k_loop_mark = "\t# loop";

// Calls `each` with every line, without its newline.
template <class Each>
void for_each_line(std::string_view text, Each each) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    each(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
}

}  // namespace terrace::cli
