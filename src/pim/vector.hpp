// SPDX-License-Identifier: Apache-2.0
// Vectors of whole numbers in the memory's blocks, as shape_of_elements() lays them out, and what is computed on
// them.
//
// Vertically an element is down a column, bit i in the i-th of `bits` rows; when the lanes (rows' worth of
// elements) are more than the block's subarrays, they go on in the next layer, `bits` rows deeper. Horizontally
// elements are side by side along a row, none crossing a subarray's edge, the row's subarrays filled one after the
// other, then the next row's. What the rows of a vector hold beyond its last element is undefined.
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
  // Vertical only: bit i is in row (i + turn) mod bits of its layer. See rotated().
  std::uint32_t turn = 0;
};

// Throws Error{invalid} where the block is outside the devices or is too small, and for bits beyond k_max_bits.
void check(const Geometry& geometry, const Vector& vector);
// What the vector fills of its block; throws as check() does.
Shape extent_of(const Geometry& geometry, const Vector& vector);
Block place_of(const Geometry& geometry, const Vector& vector);
bool overlap(const Block& a, const Block& b);
// The same vector with each element rotated left: only its rows' names change, which costs nothing. Throws
// Error{invalid} for a horizontal one.
Vector rotated(const Vector& vector, std::uint32_t by);
// A mask over such elements: one bit for each vertically, all of an element's columns alike horizontally.
Vector mask_over(const Vector& vector, const Block& block);
std::uint32_t mask_bits(const Vector& vector);

// From the host and to it, one number for each element; bits beyond the vector's are left out. The host turns
// elements into rows, which costs no row cycles. Throws Error{invalid} for another number of values.
void write(Array& array, const Vector& vector, std::span<const std::uint64_t> values);
std::vector<std::uint64_t> read(Array& array, const Vector& vector);
// How many of a mask's elements are set. The host reads the mask and counts: the paper names no counter in the
// device, and adding up a row's columns by shifts costs as many row cycles as there are columns.
std::uint64_t count(Array& array, const Vector& mask);

// Whether an operation may take both: they fill the same subarrays.
bool is_row_aligned(const Geometry& geometry, const Vector& a, const Vector& b);
// Copies a vector's rows to a block anywhere that they do not overlap. The cycles are Cycles::copies where
// subarrays differ.
Vector copied(Array& array, const Vector& vector, const Block& to);
// Gives blocks that begin in the subarrays where the work is done: an allocator's, or made by hand.
using Blocks = std::function<Block(const Shape&)>;
// The vector itself where it is beside `target`; else a copy of it in a block got from `blocks`.
Vector brought_beside(Array& array, const Vector& vector, const Vector& target, const Blocks& blocks);

// Rows that operations of an Alu take for themselves.
constexpr std::uint32_t scratch_rows(Dim dim) { return dim == Dim::vertical ? 2 : 8; }

// Computes on vectors of the same count, width, dim and subarrays; all arithmetic is modulo 2^bits. A target may
// be an operand, where not said otherwise, but not overlap one in part. Throws Error{invalid} for anything else.
class Alu {
 public:
  // `scratch` begins in the vectors' first subarray, spans all of theirs and has scratch_rows() rows.
  Alu(Array& array, const Block& scratch) : array_(array), scratch_(scratch) {}

  void logic(Gate gate, const Vector& to, const Vector& a, const Vector& b);
  void invert(const Vector& to, const Vector& a);
  void copy(const Vector& to, const Vector& a);
  void fill(const Vector& to, std::uint64_t value);
  // Left (to higher bits) where `by` is above 0; zeros enter.
  void shift(const Vector& to, const Vector& a, std::int64_t by);
  // Left, by less than the elements' bits.
  void rotate(const Vector& to, const Vector& a, std::uint32_t by);

  void add(const Vector& to, const Vector& a, const Vector& b);
  void add(const Vector& to, const Vector& a, std::uint64_t b);
  void subtract(const Vector& to, const Vector& a, const Vector& b);
  // The target is neither operand.
  void multiply(const Vector& to, const Vector& a, const Vector& b);
  void multiply(const Vector& to, const Vector& a, std::uint64_t factor);
  // to += factor * a, as many additions as the factor has set bits. The target is not `a`.
  void add_multiple(const Vector& to, const Vector& a, std::uint64_t factor);

  // Unsigned. The mask overlaps no operand.
  void equal(const Vector& mask, const Vector& a, const Vector& b);
  void equal(const Vector& mask, const Vector& a, std::uint64_t b);
  void compare_lt(const Vector& mask, const Vector& a, const Vector& b);
  void compare_lt(const Vector& mask, const Vector& a, std::uint64_t b);
  // a where the mask is set, b elsewhere. The mask has one bit for each element, or for each bit of it; the target
  // is not the mask, nor `a`.
  void select(const Vector& to, const Vector& mask, const Vector& a, const Vector& b);

  [[nodiscard]] Array& array() { return array_; }

 private:
  void need_target(const Vector& to) const;
  // `may_be_target`: it may be exactly where the target is.
  void need_operand(const Vector& to, const Vector& a, bool may_be_target = true) const;
  void need_mask(const Vector& mask, const Vector& a) const;
  void need_scratch(const Vector& to) const;
  // Calls function(unit, of) for every layer or row of the vectors: `unit` is Vertical or Horizontal, of(v) are
  // the rows of v to give it.
  template <typename Function, typename... Operands>
  void each(Function function, const Vector& shape, const Operands&... operands);
  // Calls function(of) for every row of the target: of(v) is the row of v to take with it.
  template <typename Function>
  void each_line(const Vector& to, Function function);

  Array& array_;
  Block scratch_;
};

}  // namespace terrace::pim
