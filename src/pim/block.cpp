// SPDX-License-Identifier: Apache-2.0
// Computes the shapes of blocks (rows by subarrays) from bytes or elements. Programs and bmem.h call it before
// they request a block from the allocator of PIM devices.
#include "pim/block.hpp"

#include <string>

#include "core/error.hpp"
#include "core/rounding.hpp"

namespace terrace::pim {
namespace {

// Returns the minimal number of lines of at most `most` units for `count` units, and the length that they need.
std::pair<std::uint64_t, std::uint64_t> folded(std::uint64_t count, std::uint64_t most) {
  const auto lines = ceil_div(count, most);
  return {lines, ceil_div(count, lines)};
}

[[noreturn]] void too_large(const Geometry& geometry, const std::string& what) {
  throw Error(Code::invalid, what + " do not fit into a device of " +
                                 format(Bytes{geometry.capacity().value / geometry.devices}) +
                                 "; request less, or use a larger device");
}

// Returns the shape of `units` rows in the orientation; what() returns the text for an error.
template <typename What>
Shape shaped(const Geometry& geometry, std::uint64_t units, Dim dim, What what) {
  if (units > std::uint64_t{geometry.width()} * geometry.rows) too_large(geometry, what());
  const auto [rows, subarrays] = dim == Dim::horizontal ? folded(units, geometry.width()) : [&] {
    const auto [width, depth] = folded(units, geometry.rows);
    return std::pair{depth, width};
  }();
  return {static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(subarrays)};
}

}  // namespace

Address first_of(const Geometry& geometry, const Block& block) {
  return {block.device, block.subarray / geometry.subarrays, block.subarray % geometry.subarrays, block.row, 0};
}

Bytes size_of(const Geometry& geometry, const Shape& shape) { return shape.units() * geometry.row_bytes(); }

Shape shape_of(const Geometry& geometry, Bytes size, Dim dim) {
  if (size.value == 0) throw Error(Code::invalid, "a block of 0 bytes was requested; request at least 1 byte");
  return shaped(geometry, ceil_div(size.value, geometry.row_bytes().value), dim, [&] { return format(size); });
}

Shape shape_of_elements(const Geometry& geometry, std::uint64_t count, std::uint32_t bits, Dim dim) {
  const auto what = [&] { return std::to_string(count) + " elements of " + std::to_string(bits) + " bits"; };
  if (count == 0 || bits == 0)
    throw Error(Code::invalid, what() + " were requested; request at least 1 of at least 1 bit");
  const auto most = dim == Dim::vertical ? geometry.rows : geometry.columns;
  if (bits > most)
    throw Error(Code::invalid, what() + ": a subarray has " + std::to_string(most) +
                                   (dim == Dim::vertical ? " rows" : " columns") +
                                   "; request elements of fewer bits");
  if (dim == Dim::horizontal) return shaped(geometry, ceil_div(count, geometry.columns / bits), dim, what);
  const auto lanes = ceil_div(count, geometry.columns);
  const auto deep = ceil_div(lanes, geometry.width()) * bits;  // more lanes than subarrays: several layers
  if (deep > geometry.rows) too_large(geometry, what());
  return {static_cast<std::uint32_t>(deep),
          static_cast<std::uint32_t>(ceil_div(lanes, ceil_div(lanes, geometry.width())))};
}

}  // namespace terrace::pim
