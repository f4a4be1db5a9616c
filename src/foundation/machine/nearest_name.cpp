// SPDX-License-Identifier: Apache-2.0
// Finds the known name nearest to a mistyped one, for error messages: by the restricted Damerau-Levenshtein
// distance, which counts "raed" as one step from "read".
#include "machine/nearest_name.hpp"

#include <algorithm>

namespace terrace::machine {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view word, const std::vector<std::string>& known) {
  // Skip long words: a damaged file must not make the table huge.
  if (word.size() > 100) return "";
  std::string nearest;
  std::size_t min_steps = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const auto& name : known) {
    const auto steps = edit_distance(word, name);
    if (steps < min_steps) {
      min_steps = steps;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace terrace::machine
