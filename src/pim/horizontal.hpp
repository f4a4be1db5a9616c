// SPDX-License-Identifier: Apache-2.0
// Arithmetic on elements that are along a row. Carries run sideways, and far ones cost most: so they are found by
// a parallel prefix (Kogge and Stone, IEEE Transactions on Computers 22(8), 1973), in as many steps as the width
// has bits to count it. What must not cross from one element into the next is held back by a row that is clear at
// every element's lowest column.
#pragma once

#include <cstdint>

#include "pim/row_group.hpp"

namespace terrace::pim {

class Horizontal {
 public:
  // `spare` is the first of scratch_rows(horizontal) rows. The host sends the row that separates elements, once.
  Horizontal(Array& array, const Line& spare, std::uint32_t bits);

  // The same value in every element; sent by the host where it is neither all zeros nor all ones.
  void fill(const Line& to, std::uint64_t value);
  void shift(const Line& to, const Line& a, std::int64_t by);
  void rotate(const Line& to, const Line& a, std::uint32_t by);
  void add(const Line& to, const Line& a, const Line& b);
  void add(const Line& to, const Line& a, std::uint64_t b);
  void subtract(const Line& to, const Line& a, const Line& b);
  void multiply(const Line& to, const Line& a, const Line& b);
  void add_multiple(const Line& to, const Line& a, std::uint64_t factor);
  void equal(const Line& mask, const Line& a, const Line& b);
  void equal(const Line& mask, const Line& a, std::uint64_t b);
  void compare_lt(const Line& mask, const Line& a, const Line& b);
  void compare_lt(const Line& mask, const Line& a, std::uint64_t b);

 private:
  // A scratch row, in as many subarrays as the row that is worked on.
  [[nodiscard]] Line spare(std::uint32_t n, const Line& like) const;
  [[nodiscard]] std::uint64_t all() const { return ~std::uint64_t{0} >> (k_max_bits - bits_); }
  [[nodiscard]] Line above_lowest(const Line& like) const { return spare(0, like); }
  // Carries out of every bit, from where they begin and where they are passed on; neither row is kept.
  void run_carries(const Line& generate, const Line& pass);
  // to ^= the carries, one bit further up.
  void apply_carries(const Line& to, const Line& generate);
  // Sets all of an element's columns as its lowest, clearing what else there is.
  void spread_lowest(const Line& row);
  // The same from the highest column of another row.
  void spread_highest(const Line& to, const Line& from);

  Array& array_;
  Line spare_;
  std::uint32_t bits_;
};

}  // namespace terrace::pim
