// SPDX-License-Identifier: Apache-2.0
// Implements bit-serial arithmetic on vertical elements, which lie down columns, for Alu: bit after bit with a
// carry row, on all columns at once. Every function states its row cycles for w bits at the default Costs, `to`
// being neither operand where that matters.
#pragma once

#include <cstdint>
#include <optional>

#include "pim/row_group.hpp"

namespace terrace::pim {

class Vertical {
 public:
  Vertical(Array& array, const Line& spare, const Line& carry) : array_(array), spare_(spare), carry_(carry) {}

  void shift(const RowGroup& to, const RowGroup& a, std::int64_t by);       // 2 (w - |by|) + |by|
  void rotate(const RowGroup& to, const RowGroup& a, std::uint32_t by);     // 2w; in place 2 gcd(w, by) more
  void fill(const RowGroup& to, std::uint64_t value);                       // w
  void add(const RowGroup& to, const RowGroup& a, const RowGroup& b);       // 9w + 1
  void add(const RowGroup& to, const RowGroup& a, std::uint64_t b);         // 6w + 1
  void subtract(const RowGroup& to, const RowGroup& a, const RowGroup& b);  // 9w + 1; w more where `to` is b
  void multiply(const RowGroup& to, const RowGroup& a, const RowGroup& b);  // 3w + (w - 1) + 5w (w - 1)
  void add_multiple(const RowGroup& to, const RowGroup& a,
                    std::uint64_t factor);                                 // 9 (w - i) + 1 for every set bit i
  void equal(const RowGroup& mask, const RowGroup& a, const RowGroup& b);  // 5w + 1
  void equal(const RowGroup& mask, const RowGroup& a, std::uint64_t b);    // 2w + 1
  void compare_lt(const RowGroup& mask, const RowGroup& a, const RowGroup& b);  // 6w + 1
  void compare_lt(const RowGroup& mask, const RowGroup& a, std::uint64_t b);    // 2w + 1

 private:
  // Computes one bit of to = a + b + carry in 9 row cycles; with a mask, which does not apply to the carry, in
  // 10.
  void add_bit(const Line& to, const Line& a, const Line& b, const std::optional<Where>& where = {});

  Array& array_;
  Line spare_, carry_;
};

}  // namespace terrace::pim
