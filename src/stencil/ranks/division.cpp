// SPDX-License-Identifier: Apache-2.0
// Chooses the cuts of a block among ranks by the load of the busiest one, and computes each rank's box. Called by
// Distributed when the program declares a block.
#include "stencil/ranks/division.hpp"

#include <algorithm>
#include <limits>

namespace terrace::stencil {
namespace {

constexpr std::ptrdiff_t k_far = std::ptrdiff_t{1} << 40U;
// Assumed redundant layers on each side, typical of chains of a few dozen loops. It weighs balanced sizes
// against small surfaces.
constexpr std::ptrdiff_t k_layers = 8;

std::ptrdiff_t widest(std::ptrdiff_t length, std::size_t parts) {
  const auto count = static_cast<std::ptrdiff_t>(parts);
  return (length + count - 1) / count;
}

// Returns the load of the busiest rank, in rows.
std::ptrdiff_t rows_of(const Range& block, std::size_t in_y, std::size_t in_z) {
  const auto with_layers = [&](std::size_t d, std::size_t parts) {
    const auto sides = static_cast<std::ptrdiff_t>(std::min<std::size_t>(parts - 1, 2));
    return widest(block.length(d), parts) + sides * k_layers;
  };
  return with_layers(1, in_y) * with_layers(2, in_z);
}

// Returns the numbers of parts in x, y and z of the least load; uses all ranks, or as many as get points.
std::array<std::size_t, k_max_dims> best_parts(const Range& block, std::size_t ranks) {
  for (auto used = ranks; used > 1; --used) {
    auto least = std::numeric_limits<std::ptrdiff_t>::max();
    std::array<std::size_t, k_max_dims> best{1, 1, 1};
    for (std::size_t in_y = 1; in_y <= used; ++in_y) {
      const auto in_z = used / in_y;
      if (in_z * in_y != used || static_cast<std::ptrdiff_t>(in_y) > block.length(1) ||
          static_cast<std::ptrdiff_t>(in_z) > block.length(2))
        continue;
      // Ties go to the division with the most cuts in z.
      if (const auto rows = rows_of(block, in_y, in_z); rows < least) {
        least = rows;
        best = {1, in_y, in_z};
      }
    }
    if (least < std::numeric_limits<std::ptrdiff_t>::max()) return best;
  }
  return {1, 1, 1};
}

std::ptrdiff_t cut(const Range& block, std::size_t d, std::size_t parts, std::size_t part) {
  return block.begin[d] + block.length(d) * static_cast<std::ptrdiff_t>(part) / static_cast<std::ptrdiff_t>(parts);
}

}  // namespace

Division::Division(const Range& block, std::size_t ranks)
    : parts_(best_parts(block, ranks)), own_(ranks, Range{{0, 0}, {0, 0}, {0, 0}}) {
  for (std::size_t d = 0; d < k_max_dims; ++d)
    narrowest_[d] = block.length(d) / static_cast<std::ptrdiff_t>(parts_[d]);
  for (std::size_t z = 0; z < parts_[2]; ++z)
    for (std::size_t y = 0; y < parts_[1]; ++y) {
      const std::array<std::size_t, k_max_dims> part{0, y, z};
      Range own;
      for (std::size_t d = 0; d < k_max_dims; ++d) {
        own.begin[d] = part[d] == 0 ? -k_far : cut(block, d, parts_[d], part[d]);
        own.end[d] = part[d] + 1 == parts_[d] ? k_far : cut(block, d, parts_[d], part[d] + 1);
      }
      own_[z * parts_[1] + y] = own;
    }
}

std::ptrdiff_t Division::beyond(const Range& range, std::size_t rank, std::size_t d) const {
  const auto& own = own_[rank];
  if (range.empty() || own.empty()) return 0;
  return std::max<std::ptrdiff_t>({own.begin[d] - range.begin[d], range.end[d] - own.end[d], 0});
}

}  // namespace terrace::stencil
