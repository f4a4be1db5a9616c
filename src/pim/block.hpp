// SPDX-License-Identifier: Apache-2.0
// What is asked of a device, and what one gets: rectangles of whole rows in neighbouring subarrays.
#pragma once

#include <cstdint>

#include "core/units.hpp"
#include "pim/geometry.hpp"

namespace terrace::pim {

// How a vector's elements are: their bits along a row, or down a column.
enum class Dim : std::uint8_t { horizontal, vertical };
enum class Fit : std::uint8_t { first, best };
// What a block may not leave, or what the blocks of a group have in common.
enum class Within : std::uint8_t { subarray, bank, device };

struct Shape {
  std::uint32_t rows = 0;
  std::uint32_t subarrays = 0;
  bool operator==(const Shape&) const = default;
  [[nodiscard]] std::uint64_t units() const { return std::uint64_t{rows} * subarrays; }
};

// A rectangle of a device. `subarray` counts through the device's banks: bank x subarrays of a bank + subarray.
struct Block {
  std::uint32_t device = 0;
  std::uint32_t subarray = 0;
  std::uint32_t row = 0;
  Shape shape;
  bool operator==(const Block&) const = default;
};

// The address of a block's first bit.
Address first_of(const Geometry& geometry, const Block& block);
Bytes size_of(const Geometry& geometry, const Shape& shape);

// The rectangle for so many bytes: horizontally as few rows as can be, vertically as few subarrays, and of the
// other no more than they need. Throws Error{invalid} for 0 bytes, and for more than a device has.
Shape shape_of(const Geometry& geometry, Bytes size, Dim dim);
// The rectangle for `count` elements of `bits` each. Vertically each is in a column of its own, `bits` rows
// deep, as many side by side as there are columns; horizontally no element crosses from one subarray into the
// next. Throws Error{invalid} for none, and where a subarray is too small for an element or a device for all.
Shape shape_of_elements(const Geometry& geometry, std::uint64_t count, std::uint32_t bits, Dim dim);

}  // namespace terrace::pim
