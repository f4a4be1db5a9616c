// What loops are called: by their function and the line that says how they go on, "solve:120"; where no line is
// known, by how far into the function that is, "solve+28".
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace terrace::observe {

struct LoopName {
  std::string function;
  std::string file;        // without folders; empty: no line is known
  std::uint32_t line = 0;  // of the file
  std::uint64_t offset = 0;

  [[nodiscard]] std::string text() const {
    if (file.empty()) return std::string(function).append("+").append(std::to_string(offset));
    return std::string(function).append(":").append(std::to_string(line));
  }
};

// Where the number of "solve:120" or "solve+28" has its mark; npos: it is no loop's name.
inline std::size_t loop_number_at(std::string_view name) {
  const auto at = name.find_last_of(":+");
  if (at == std::string_view::npos || at == 0 || at + 1 == name.size()) return std::string_view::npos;
  const auto number = name.substr(at + 1);
  const bool is_number = std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? at : std::string_view::npos;
}

}  // namespace terrace::observe
