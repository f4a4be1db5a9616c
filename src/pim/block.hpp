// SPDX-License-Identifier: Apache-2.0
// Defines shapes and blocks of processing-in-memory (PIM) devices: rectangles of whole rows in neighbouring
// subarrays. pim::Allocator (allocator.hpp) allocates them; used throughout src/pim.
#pragma once

#include <cstdint>

#include "core/units.hpp"
#include "pim/geometry.hpp"

namespace terrace::pim {

// Orientation of a vector's elements: bits along a row, or down a column.
enum class Dim : std::uint8_t { horizontal, vertical };
enum class Fit : std::uint8_t { first, best };
// The unit that a block must not leave, or that the blocks of a group share.
enum class Within : std::uint8_t { subarray, bank, device };

struct Shape {
  std::uint32_t rows = 0;
  std::uint32_t subarrays = 0;
  bool operator==(const Shape&) const = default;
  [[nodiscard]] std::uint64_t units() const { return std::uint64_t{rows} * subarrays; }
};

// An allocated rectangle of a device. `subarray` is numbered through the device's banks: bank * subarrays per
// bank + subarray.
struct Block {
  std::uint32_t device = 0;
  std::uint32_t subarray = 0;
  std::uint32_t row = 0;
  Shape shape;
  bool operator==(const Block&) const = default;
};

// Returns the address of a block's first bit.
Address first_of(const Geometry& geometry, const Block& block);
Bytes size_of(const Geometry& geometry, const Shape& shape);

// Returns the shape for `size` bytes: horizontally in as few rows as possible, vertically in as few subarrays,
// and minimal in the other dimension. Throws Error{invalid} for 0 bytes, and for more than a device has.
Shape shape_of(const Geometry& geometry, Bytes size, Dim dim);
// Returns the shape for `count` elements of `bits` each. Vertically each is in a column of its own, `bits` rows
// deep, as many side by side as there are columns; horizontally no element crosses from one subarray into the
// next. Throws Error{invalid} for none, and if a subarray is too small for an element or a device for all.
Shape shape_of_elements(const Geometry& geometry, std::uint64_t count, std::uint32_t bits, Dim dim);

}  // namespace terrace::pim
