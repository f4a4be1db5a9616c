// SPDX-License-Identifier: Apache-2.0
// Adds up cells and phases of a profile, for the collectors. See counts.hpp.
#include "observe/counts.hpp"

#include <algorithm>

namespace terrace::observe {

std::vector<Cell> add(const std::vector<Cell>& a, const std::vector<Cell>& b) {
  std::vector<Cell> sum;
  sum.reserve(a.size() + b.size());
  auto left = a.begin();
  auto right = b.begin();
  while (left != a.end() || right != b.end()) {
    if (right == b.end() || (left != a.end() && left->chunk < right->chunk)) {
      sum.push_back(*left++);
    } else if (left == a.end() || right->chunk < left->chunk) {
      sum.push_back(*right++);
    } else {
      sum.push_back({left->chunk, left->read_lines + right->read_lines, left->write_lines + right->write_lines,
                     left->exposure + right->exposure, left->samples + right->samples,
                     left->line_squares + right->line_squares, left->streamed_lines + right->streamed_lines,
                     left->streamed_exposure + right->streamed_exposure});
      ++left;
      ++right;
    }
  }
  return sum;
}

void add(Phase& first, const Phase& second) {
  first.time += second.time;
  first.core += second.core;
  first.samples += second.samples;
  first.samples_with_access += second.samples_with_access;
  first.bandwidth_time += second.bandwidth_time;
  first.unowned_lines += second.unowned_lines;
  first.cells = add(first.cells, second.cells);
  first.streamed_on.resize(std::max(first.streamed_on.size(), second.streamed_on.size()), 0);
  for (std::size_t p = 0; p < second.streamed_on.size(); ++p) first.streamed_on[p] += second.streamed_on[p];
}

}  // namespace terrace::observe
