// SPDX-License-Identifier: Apache-2.0
// Implements arithmetic of processing in memory on horizontal elements, whose bits lie along a DRAM row, for Alu.
// Carries propagate along the row, and distant ones cost most. So a parallel-prefix adder computes them in log2(width) steps (Kogge and Stone, IEEE
// Transactions on Computers 22(8), 1973). A mask row that is clear at every element's lowest column keeps carries
// within elements.
#pragma once

#include <cstdint>

#include "pim/row_group.hpp"

namespace terrace::pim {

class Horizontal {
 public:
  // `spare` is the first of scratch_rows(horizontal) rows. The constructor writes the mask row from the host
  // once.
  Horizontal(Array& array, const Line& spare, std::uint32_t bits);

  // Sets every element to `value`; the host sends it unless it is all zeros or all ones.
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
  // Returns a scratch row that spans as many subarrays as `like`.
  [[nodiscard]] Line spare(std::uint32_t n, const Line& like) const;
  [[nodiscard]] std::uint64_t all() const { return ~std::uint64_t{0} >> (k_max_bits - bits_); }
  [[nodiscard]] Line above_lowest(const Line& like) const { return spare(0, like); }
  // Computes the carries out of every bit from generate and propagate bits; overwrites both rows.
  void run_carries(const Line& generate, const Line& pass);
  // Computes to ^= carries << 1.
  void apply_carries(const Line& to, const Line& generate);
  // Copies each element's lowest bit to all its columns, clearing the rest first.
  void spread_lowest(const Line& row);
  // Copies each element's highest bit of another row to all its columns.
  void spread_highest(const Line& to, const Line& from);

  Array& array_;
  Line spare_;
  std::uint32_t bits_;
};

}  // namespace terrace::pim
