// SPDX-License-Identifier: Apache-2.0
// Adds ranges to a set of points and subtracts them, box by box. Used to find which values a chain of loops needs
// from before, and which it writes.
#include "stencil/plan/boxes.hpp"

#include <algorithm>

namespace terrace::stencil {
namespace {

// Adds the points of `from` outside `hole` to `pieces`: at most two ranges per dimension.
void subtract(Range from, const Range& hole, std::vector<Range>& pieces) {
  if (intersection(from, hole).empty()) {
    pieces.push_back(from);
    return;
  }
  for (auto d = k_max_dims; d-- > 0;) {
    if (from.begin[d] < hole.begin[d]) {
      auto below = from;
      below.end[d] = hole.begin[d];
      pieces.push_back(below);
      from.begin[d] = hole.begin[d];
    }
    if (from.end[d] > hole.end[d]) {
      auto above = from;
      above.begin[d] = hole.end[d];
      pieces.push_back(above);
      from.end[d] = hole.end[d];
    }
  }
}

}  // namespace

std::vector<Range> Boxes::missing(const Range& range) const {
  std::vector<Range> left;
  if (!range.empty()) left.push_back(range);
  for (const auto& box : all_) {
    std::vector<Range> next;
    for (const auto& piece : left) subtract(piece, box, next);
    left = std::move(next);
    if (left.empty()) break;
  }
  return left;
}

void Boxes::add(const Range& range) {
  const auto pieces = missing(range);
  all_.insert(all_.end(), pieces.begin(), pieces.end());
}

bool Boxes::touches(const Range& range) const {
  return std::ranges::any_of(all_, [&](const Range& box) { return !intersection(box, range).empty(); });
}

}  // namespace terrace::stencil
