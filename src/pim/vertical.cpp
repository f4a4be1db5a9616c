// SPDX-License-Identifier: Apache-2.0
// Implements bit-serial arithmetic on elements that lie down columns of a PIM device. Called by Alu for vertical
// vectors. See vertical.hpp.
#include "pim/vertical.hpp"

#include <numeric>
#include <utility>

namespace terrace::pim {
namespace {

bool bit(std::uint64_t value, std::uint32_t i) { return ((value >> i) & 1) != 0; }

}  // namespace

void Vertical::shift(const RowGroup& to, const RowGroup& a, std::int64_t by) {
  const auto width = std::int64_t{to.count};
  // In an order in which no row is overwritten before it is read, if both are the same.
  for (std::int64_t n = 0; n < width; ++n) {
    const auto i = by > 0 ? width - 1 - n : n;
    const auto from = i - by;
    if (from >= 0 && from < width)
      array_.copy(to[static_cast<std::uint32_t>(i)], a[static_cast<std::uint32_t>(from)]);
    else
      array_.fill(to[static_cast<std::uint32_t>(i)], false);
  }
}

void Vertical::rotate(const RowGroup& to, const RowGroup& a, std::uint32_t by) {
  const auto width = to.count;
  const auto source = [&](std::uint32_t i) { return (i + width - by) % width; };
  if (!(to == a)) {
    for (std::uint32_t i = 0; i < width; ++i) array_.copy(to[i], a[source(i)]);
    return;
  }
  for (std::uint32_t start = 0; start < std::gcd(width, by); ++start) {  // the cycles of the permutation
    array_.copy(spare_, a[start]);
    auto i = start;
    for (; source(i) != start; i = source(i)) array_.copy(to[i], a[source(i)]);
    array_.copy(to[i], spare_);
  }
}

void Vertical::fill(const RowGroup& to, std::uint64_t value) {
  for (std::uint32_t i = 0; i < to.count; ++i) array_.fill(to[i], bit(value, i));
}

void Vertical::add_bit(const Line& to, const Line& a, const Line& b, const std::optional<Where>& where) {
  array_.logic(Gate::xor_, spare_, a, b);
  array_.logic(Gate::xor_, to, spare_, carry_, where);
  // If both bits are equal they are the carry, else the carry propagates. `to` may be one of the operands.
  array_.copy(carry_, a == to ? b : a, Where{spare_, false});
}

void Vertical::add(const RowGroup& to, const RowGroup& a, const RowGroup& b) {
  if (to == a && to == b) return shift(to, a, 1);  // add_bit() would overwrite both
  array_.fill(carry_, false);
  for (std::uint32_t i = 0; i < to.count; ++i) add_bit(to[i], a[i], b[i]);
}

void Vertical::add(const RowGroup& to, const RowGroup& a, std::uint64_t b) {
  auto carry = carry_, next = spare_;
  array_.fill(carry, false);
  for (std::uint32_t i = 0; i < to.count; ++i, std::swap(carry, next)) {
    array_.logic(bit(b, i) ? Gate::or_ : Gate::and_, next, a[i], carry);
    array_.logic(bit(b, i) ? Gate::xnor : Gate::xor_, to[i], a[i], carry);
  }
}

void Vertical::subtract(const RowGroup& to, const RowGroup& a, const RowGroup& b) {
  array_.fill(carry_, false);  // a borrow
  for (std::uint32_t i = 0; i < to.count; ++i) {
    array_.logic(Gate::xor_, spare_, a[i], b[i]);
    array_.logic(Gate::xor_, to[i], spare_, carry_);
    // If the bits differ, b's bit is the borrow; if b was overwritten, the inverse of a's is.
    if (to[i] == b[i])
      array_.invert(carry_, a[i], Where{spare_});
    else
      array_.copy(carry_, b[i], Where{spare_});
  }
}

void Vertical::multiply(const RowGroup& to, const RowGroup& a, const RowGroup& b) {
  for (std::uint32_t i = 0; i < to.count; ++i) array_.logic(Gate::and_, to[i], a[i], b[0]);
  for (std::uint32_t s = 1; s < to.count; ++s) {
    array_.fill(carry_, false);
    for (std::uint32_t i = s; i < to.count; ++i) add_bit(to[i], to[i], a[i - s], Where{b[s]});
  }
}

void Vertical::add_multiple(const RowGroup& to, const RowGroup& a, std::uint64_t factor) {
  for (std::uint32_t s = 0; s < to.count; ++s) {
    if (!bit(factor, s)) continue;
    array_.fill(carry_, false);
    for (std::uint32_t i = s; i < to.count; ++i) add_bit(to[i], to[i], a[i - s]);
  }
}

void Vertical::equal(const RowGroup& mask, const RowGroup& a, const RowGroup& b) {
  array_.fill(mask[0], true);
  for (std::uint32_t i = 0; i < a.count; ++i) {
    array_.logic(Gate::xor_, spare_, a[i], b[i]);
    array_.fill(mask[0], false, Where{spare_});
  }
}

void Vertical::equal(const RowGroup& mask, const RowGroup& a, std::uint64_t b) {
  array_.fill(mask[0], true);
  for (std::uint32_t i = 0; i < a.count; ++i) array_.fill(mask[0], false, Where{a[i], !bit(b, i)});
}

void Vertical::compare_lt(const RowGroup& mask, const RowGroup& a, const RowGroup& b) {
  array_.fill(mask[0], false);  // the borrow of a - b
  for (std::uint32_t i = 0; i < a.count; ++i) {
    array_.logic(Gate::xor_, spare_, a[i], b[i]);
    array_.copy(mask[0], b[i], Where{spare_});
  }
}

void Vertical::compare_lt(const RowGroup& mask, const RowGroup& a, std::uint64_t b) {
  array_.fill(mask[0], false);
  for (std::uint32_t i = 0; i < a.count; ++i) array_.fill(mask[0], bit(b, i), Where{a[i], !bit(b, i)});
}

}  // namespace terrace::pim
