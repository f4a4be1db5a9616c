// SPDX-License-Identifier: Apache-2.0
// Names a loop, for reports and for options that name the main loop, by its function and the source line of its
// condition, "solve:120"; without line information by the offset of its back edge in the function, "solve+28".
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace terrace::observe {

struct LoopName {
  std::string function;
  std::string file;  // base name; empty: there is no line information
  std::uint32_t line = 0;
  std::uint64_t offset = 0;  // bytes from the function's entry

  [[nodiscard]] std::string text() const {
    if (file.empty()) return std::string(function).append("+").append(std::to_string(offset));
    return std::string(function).append(":").append(std::to_string(line));
  }
};

// Returns the index of the separator in "solve:120" or "solve+28"; npos where the text is no loop's name.
inline std::size_t loop_separator(std::string_view name) {
  const auto at = name.find_last_of(":+");
  if (at == std::string_view::npos || at == 0 || at + 1 == name.size()) return std::string_view::npos;
  const auto number = name.substr(at + 1);
  const bool is_number = std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? at : std::string_view::npos;
}

}  // namespace terrace::observe
