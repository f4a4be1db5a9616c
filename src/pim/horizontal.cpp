// SPDX-License-Identifier: Apache-2.0
// Implements arithmetic on elements that lie along a row of a PIM device: parallel-prefix carries, masks at
// element borders. Called by Alu for horizontal vectors.
#include "pim/horizontal.hpp"

#include <vector>

namespace terrace::pim {
namespace {

// Returns a row of elements that all hold the same value.
std::vector<Word> pattern(const Array& array, std::uint32_t bits, std::uint64_t value) {
  std::vector<Word> row(array.words());
  const auto used = array.geometry().columns / bits * bits;
  for (std::uint32_t column = 0; column < used; ++column)
    row[column / 64] |= ((value >> (column % bits)) & 1) << (column % 64);
  return row;
}

}  // namespace

Horizontal::Horizontal(Array& array, const Line& spare, std::uint32_t bits)
    : array_(array), spare_(spare), bits_(bits) {
  fill(above_lowest(spare), ~std::uint64_t{1});
}

Line Horizontal::spare(std::uint32_t n, const Line& like) const {
  return {like.device, like.subarray, spare_.row + n, like.subarrays};
}

void Horizontal::fill(const Line& to, std::uint64_t value) {
  value &= all();
  if (value == 0 || value == all())
    array_.fill(to, value != 0);
  else
    array_.broadcast(to, pattern(array_, bits_, value));
}

void Horizontal::shift(const Line& to, const Line& a, std::int64_t by) {
  const auto kept = spare(1, to);
  if (by == 0) return array_.copy(to, a);
  if (by >= bits_ || by <= -std::int64_t{bits_}) return array_.fill(to, false);
  fill(kept, by > 0 ? all() << by : all() >> -by);
  array_.shift(to, a, by);
  array_.logic(Gate::and_, to, to, kept);
}

void Horizontal::rotate(const Line& to, const Line& a, std::uint32_t by) {
  if (by == 0) return array_.copy(to, a);
  const auto up = spare(1, to), upper = spare(2, to);
  fill(upper, ~std::uint64_t{0} << by);
  array_.shift(up, a, by);
  array_.shift(to, a, std::int64_t{by} - bits_);
  array_.copy(to, up, Where{upper});
}

void Horizontal::run_carries(const Line& generate, const Line& pass) {
  const auto moved = spare(3, generate);
  // Carries do not propagate out of an element: its lowest bit propagates nothing, and after the step of
  // distance d neither do its lowest 2d bits. So no step reads from the element below.
  array_.logic(Gate::and_, pass, pass, above_lowest(pass));
  for (std::uint32_t distance = 1; distance < bits_; distance *= 2) {
    array_.shift(moved, generate, distance);
    array_.logic(Gate::and_, moved, moved, pass);
    array_.logic(Gate::or_, generate, generate, moved);
    if (2 * distance >= bits_) break;
    array_.shift(moved, pass, distance);
    array_.logic(Gate::and_, pass, pass, moved);
  }
}

void Horizontal::apply_carries(const Line& to, const Line& generate) {
  const auto moved = spare(3, to);
  array_.shift(moved, generate, 1);
  array_.logic(Gate::and_, moved, moved, above_lowest(to));
  array_.logic(Gate::xor_, to, to, moved);
}

void Horizontal::add(const Line& to, const Line& a, const Line& b) {
  const auto generate = spare(1, to), pass = spare(2, to);
  array_.logic(Gate::and_, generate, a, b);
  array_.logic(Gate::xor_, to, a, b);
  array_.copy(pass, to);
  run_carries(generate, pass);
  apply_carries(to, generate);
}

void Horizontal::add(const Line& to, const Line& a, std::uint64_t b) {
  fill(spare(4, to), b);
  add(to, a, spare(4, to));
}

void Horizontal::subtract(const Line& to, const Line& a, const Line& b) {
  const auto generate = spare(1, to), pass = spare(2, to);
  array_.invert(pass, a);
  array_.logic(Gate::and_, generate, pass, b);  // borrows
  array_.logic(Gate::xnor, pass, a, b);
  array_.logic(Gate::xor_, to, a, b);
  run_carries(generate, pass);
  apply_carries(to, generate);
}

void Horizontal::add_multiple(const Line& to, const Line& a, std::uint64_t factor) {
  const auto multiple = spare(5, to);
  factor &= all();
  if (factor == 0) return;
  array_.copy(multiple, a);
  for (;; factor >>= 1) {
    if ((factor & 1) != 0) add(to, to, multiple);
    if (factor <= 1) return;
    array_.shift(multiple, multiple, 1);
    array_.logic(Gate::and_, multiple, multiple, above_lowest(to));
  }
}

void Horizontal::multiply(const Line& to, const Line& a, const Line& b) {
  const auto multiple = spare(5, to), factor = spare(6, to), addend = spare(7, to);
  array_.copy(multiple, a);
  array_.copy(factor, b);
  array_.fill(to, false);
  for (std::uint32_t i = 0;; ++i) {
    array_.copy(addend, factor);
    spread_lowest(addend);
    array_.logic(Gate::and_, addend, addend, multiple);
    add(to, to, addend);
    if (i + 1 == bits_) return;
    array_.shift(multiple, multiple, 1);
    array_.logic(Gate::and_, multiple, multiple, above_lowest(to));
    array_.shift(factor, factor, -1);
  }
}

void Horizontal::spread_lowest(const Line& row) {
  const auto moved = spare(3, row);
  array_.fill(row, false, Where{above_lowest(row)});
  for (std::uint32_t reach = 1; reach < bits_;) {
    const auto distance = std::min(reach, bits_ - reach);
    array_.shift(moved, row, distance);
    array_.logic(Gate::or_, row, row, moved);
    reach += distance;
  }
}

void Horizontal::spread_highest(const Line& to, const Line& from) {
  if (bits_ == 1)
    array_.copy(to, from);
  else
    array_.shift(to, from, 1 - std::int64_t{bits_});
  spread_lowest(to);
}

void Horizontal::equal(const Line& mask, const Line& a, const Line& b) {
  const auto differ = spare(1, mask), pass = spare(2, mask);
  array_.logic(Gate::xor_, differ, a, b);
  array_.fill(pass, true);  // carries any difference to the highest bit
  run_carries(differ, pass);
  array_.invert(differ, differ);
  spread_highest(mask, differ);
}

void Horizontal::equal(const Line& mask, const Line& a, std::uint64_t b) {
  fill(spare(4, mask), b);
  equal(mask, a, spare(4, mask));
}

void Horizontal::compare_lt(const Line& mask, const Line& a, const Line& b) {
  const auto borrow = spare(1, mask), pass = spare(2, mask);
  array_.invert(pass, a);
  array_.logic(Gate::and_, borrow, pass, b);
  array_.logic(Gate::xnor, pass, a, b);
  run_carries(borrow, pass);
  spread_highest(mask, borrow);
}

void Horizontal::compare_lt(const Line& mask, const Line& a, std::uint64_t b) {
  fill(spare(4, mask), b);
  compare_lt(mask, a, spare(4, mask));
}

}  // namespace terrace::pim
