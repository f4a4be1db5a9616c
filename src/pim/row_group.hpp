// SPDX-License-Identifier: Apache-2.0
// Maps a vector to groups of rows on which operations work: its layers (vertical) or its rows (horizontal). Used
// by Alu, its algorithms Vertical and Horizontal, and the transfer of vectors.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pim/array.hpp"
#include "pim/vector.hpp"

namespace terrace::pim {

// The rows of one group: one for each bit vertically, a single one horizontally.
struct RowGroup {
  Line first;
  std::uint32_t count = 1;
  std::uint32_t rotation = 0;

  Line operator[](std::uint32_t i) const {
    auto line = first;
    line.row += (i + rotation) % count;
    return line;
  }
  bool operator==(const RowGroup&) const = default;
};

inline std::uint64_t elements_of_a_lane(const Geometry& geometry, const Vector& vector) {
  return vector.dim == Dim::vertical ? geometry.columns : geometry.columns / vector.bits;
}

inline std::uint64_t lanes_of(const Geometry& geometry, const Vector& vector) {
  return (vector.count - 1) / elements_of_a_lane(geometry, vector) + 1;
}

inline std::uint32_t groups_of(const Geometry& geometry, const Vector& vector) {
  return static_cast<std::uint32_t>((lanes_of(geometry, vector) - 1) / vector.block.shape.subarrays + 1);
}

// Returns group number `group`. Spans only the subarrays that hold elements: the last group may have fewer.
inline RowGroup row_group(const Geometry& geometry, const Vector& vector, std::uint32_t group) {
  const auto& block = vector.block;
  const auto count = vector.dim == Dim::vertical ? vector.bits : 1;
  const auto lanes = lanes_of(geometry, vector) - std::uint64_t{group} * block.shape.subarrays;
  const auto span = static_cast<std::uint32_t>(std::min<std::uint64_t>(block.shape.subarrays, lanes));
  return {{block.device, block.subarray, block.row + group * count, span}, count, vector.rotation};
}

}  // namespace terrace::pim
