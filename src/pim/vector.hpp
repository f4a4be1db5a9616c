// SPDX-License-Identifier: Apache-2.0
// Defines integer vectors in blocks of a processing-in-memory (PIM) device, laid out by shape_of_elements(), and
// arithmetic on them. The programs of workloads/pim compute with them.
//
// Vertical: an element is down a column, bit i in the i-th of `bits` rows. If the lanes (rows of elements)
// exceed the block's subarrays, they continue in the next layer, `bits` rows deeper. Horizontal: elements are
// side by side along a row, none crosses a subarray's edge; the row's subarrays are filled in order, then the
// next row's. What the rows of a vector contain beyond its last element is undefined.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "pim/array.hpp"
#include "pim/block.hpp"

namespace terrace::pim {

inline constexpr std::uint32_t k_max_bits = 64;

struct Vector {
  Block block;
  std::uint64_t count = 0;
  std::uint32_t bits = 0;
  Dim dim = Dim::vertical;
  // Vertical only: bit i is in row (i + rotation) mod bits of its layer, so rotation is free. See rotated().
  std::uint32_t rotation = 0;
};

// Throws Error{invalid} if the block is outside the devices or too small, and for more than k_max_bits bits.
void check(const Geometry& geometry, const Vector& vector);
// Return the part of its block that the vector fills; throw as check() does.
Shape extent_of(const Geometry& geometry, const Vector& vector);
Block place_of(const Geometry& geometry, const Vector& vector);
bool overlap(const Block& a, const Block& b);
// Returns the vector with each element rotated left. This only renames rows and costs no cycles. Throws
// Error{invalid} for a horizontal vector.
Vector rotated(const Vector& vector, std::uint32_t by);
// Returns a mask over the vector's elements: one bit for each vertically, all columns of an element equal
// horizontally.
Vector mask_over(const Vector& vector, const Block& block);
std::uint32_t mask_bits(const Vector& vector);

// Copy elements from and to the host, one value for each; bits beyond the vector's width are dropped. The host
// transposes elements into rows, which costs no row cycles. Throw Error{invalid} for a wrong number of values.
void write(Array& array, const Vector& vector, std::span<const std::uint64_t> values);
std::vector<std::uint64_t> read(Array& array, const Vector& vector);
// Returns the number of set elements of a mask. The host reads the mask and counts: the paper names no counter
// in the device, and adding a row's columns by shifts costs as many row cycles as there are columns.
std::uint64_t count(Array& array, const Vector& mask);

// Returns whether one operation may take both: they fill the same subarrays.
bool is_row_aligned(const Geometry& geometry, const Vector& a, const Vector& b);
// Copies a vector's rows to a block that does not overlap them. Cycles count as Cycles::copies if subarrays
// differ.
Vector copied(Array& array, const Vector& vector, const Block& to);
// Allocates blocks that begin in the subarrays where the work is done.
using Blocks = std::function<Block(const Shape&)>;
// Returns the vector if it is row-aligned with `target`, else a copy of it in a block of `blocks`.
Vector align_to(Array& array, const Vector& vector, const Vector& target, const Blocks& blocks);

// Number of scratch rows that operations of an Alu use.
constexpr std::uint32_t scratch_rows(Dim dim) { return dim == Dim::vertical ? 2 : 8; }

// Arithmetic unit: computes on vectors of equal count, width, orientation and subarrays, modulo 2^bits. A
// target may be an operand, where not stated otherwise, but must not overlap one partially. Throws
// Error{invalid} otherwise.
class Alu {
 public:
  // `scratch` begins in the vectors' first subarray, spans all of theirs and has scratch_rows() rows.
  Alu(Array& array, const Block& scratch) : array_(array), scratch_(scratch) {}

  void logic(Gate gate, const Vector& to, const Vector& a, const Vector& b);
  void invert(const Vector& to, const Vector& a);
  void copy(const Vector& to, const Vector& a);
  void fill(const Vector& to, std::uint64_t value);
  // Shifts left (to higher bits) if `by` > 0; zeros are shifted in.
  void shift(const Vector& to, const Vector& a, std::int64_t by);
  // Rotates left, by less than the elements' bits.
  void rotate(const Vector& to, const Vector& a, std::uint32_t by);

  void add(const Vector& to, const Vector& a, const Vector& b);
  void add(const Vector& to, const Vector& a, std::uint64_t b);
  void subtract(const Vector& to, const Vector& a, const Vector& b);
  // Requires that the target is neither operand.
  void multiply(const Vector& to, const Vector& a, const Vector& b);
  void multiply(const Vector& to, const Vector& a, std::uint64_t factor);
  // Computes to += factor * a, one addition for each set bit of the factor. Requires that the target is not
  // `a`.
  void add_multiple(const Vector& to, const Vector& a, std::uint64_t factor);

  // Compare unsigned. Require that the mask overlaps no operand.
  void equal(const Vector& mask, const Vector& a, const Vector& b);
  void equal(const Vector& mask, const Vector& a, std::uint64_t b);
  void compare_lt(const Vector& mask, const Vector& a, const Vector& b);
  void compare_lt(const Vector& mask, const Vector& a, std::uint64_t b);
  // Selects a where the mask is set, b elsewhere. The mask has one bit for each element, or for each bit of it.
  // Requires that the target is neither the mask nor `a`.
  void select(const Vector& to, const Vector& mask, const Vector& a, const Vector& b);

  [[nodiscard]] Array& array() { return array_; }

 private:
  void need_target(const Vector& to) const;
  // With `may_be_target`, the operand may be exactly the target.
  void need_operand(const Vector& to, const Vector& a, bool may_be_target = true) const;
  void need_mask(const Vector& mask, const Vector& a) const;
  void need_scratch(const Vector& to) const;
  // Calls function(unit, of) for every layer or row of the vectors: `unit` is Vertical or Horizontal, of(v)
  // returns the rows of v for it.
  template <typename Function, typename... Operands>
  void each(Function function, const Vector& shape, const Operands&... operands);
  // Calls function(of) for every row of the target: of(v) is the matching row of v.
  template <typename Function>
  void each_line(const Vector& to, Function function);

  Array& array_;
  Block scratch_;
};

}  // namespace terrace::pim
