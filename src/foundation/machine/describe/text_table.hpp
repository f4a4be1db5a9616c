// SPDX-License-Identifier: Apache-2.0
// Formats a table as plain text in aligned columns, for the output of `terrace machine`.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace terrace::machine {

// Each column is as wide as its widest cell.
class TextTable {
 public:
  // The first `left` columns contain words and are aligned left; the others contain numbers.
  explicit TextTable(std::vector<std::string> head, std::size_t left = 1) : left_(left) {
    rows_.push_back(std::move(head));
  }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string text() const {
    std::vector<std::size_t> widths(rows_.front().size());
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string out;
    for (const auto& row : rows_) {
      std::string line = "  ";
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string gap(widths[i] - row[i].size(), ' ');
        line += i < left_ ? row[i] + gap : gap + row[i];
        if (i + 1 < row.size()) line += "  ";
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::size_t left_;
};

}  // namespace terrace::machine
