// SPDX-License-Identifier: Apache-2.0
// Implements Alu (vector.hpp), arithmetic on vectors in a PIM device: validates operands, then runs Vertical or
// Horizontal for each layer or row. The programs of workloads/pim call it.
#include <algorithm>
#include <bit>
#include <string>

#include "core/error.hpp"
#include "pim/horizontal.hpp"
#include "pim/row_group.hpp"
#include "pim/vector.hpp"
#include "pim/vertical.hpp"

namespace terrace::pim {
namespace {

// Returns whether both vectors are the same bits of the device.
bool same_place(const Geometry& geometry, const Vector& a, const Vector& b) {
  return a.bits == b.bits && a.rotation == b.rotation && a.block.row == b.block.row &&
         is_row_aligned(geometry, a, b) && extent_of(geometry, a) == extent_of(geometry, b);
}

[[noreturn]] void refuse(const std::string& why) { throw Error(Code::invalid, why); }

std::string lanes_text(const Vector& vector) {
  return std::to_string(vector.count) + (vector.dim == Dim::vertical ? " vertical" : " horizontal") + " of " +
         std::to_string(vector.bits) + " bits";
}

// Checks the vector, and that both are row-aligned; widths may differ.
void need_same_lanes(const Geometry& geometry, const Vector& to, const Vector& a) {
  check(geometry, a);
  if (a.dim != to.dim || a.count != to.count) refuse("operands differ: " + lanes_text(a) + ", " + lanes_text(to));
  if (!is_row_aligned(geometry, a, to) || groups_of(geometry, a) != groups_of(geometry, to))
    refuse("an operand fills " + std::to_string(extent_of(geometry, a).subarrays) + " subarrays from " +
           std::to_string(a.block.subarray) + " of device " + std::to_string(a.block.device) + ", the target " +
           std::to_string(extent_of(geometry, to).subarrays) + " from " + std::to_string(to.block.subarray) +
           " of " + std::to_string(to.block.device) + "; copy it there first, as align_to() does");
}

// Refuses an operand that overlaps the target, unless it may be, and is, exactly the target.
void need_apart(const Geometry& geometry, const Vector& to, const Vector& a, bool may_be_target) {
  if (may_be_target && same_place(geometry, to, a)) return;
  if (overlap(place_of(geometry, to), place_of(geometry, a)))
    refuse("the target at row " + std::to_string(to.block.row) + " overlaps the operand at row " +
           std::to_string(a.block.row) +
           (may_be_target ? "; it must be the same vector or lie apart" : "; it must lie apart"));
}

}  // namespace

void Alu::need_target(const Vector& to) const { check(array_.geometry(), to); }

void Alu::need_operand(const Vector& to, const Vector& a, bool may_be_target) const {
  need_same_lanes(array_.geometry(), to, a);
  if (a.bits != to.bits) refuse("operands differ: " + lanes_text(a) + ", " + lanes_text(to));
  need_apart(array_.geometry(), to, a, may_be_target);
}

void Alu::need_mask(const Vector& mask, const Vector& a) const {
  need_same_lanes(array_.geometry(), mask, a);
  if (mask.bits != mask_bits(a)) refuse("a mask of " + std::to_string(mask.bits) + " bits over " + lanes_text(a));
  need_apart(array_.geometry(), mask, a, false);
}

void Alu::need_scratch(const Vector& to) const {
  const auto& geometry = array_.geometry();
  const auto need = Shape{scratch_rows(to.dim), extent_of(geometry, to).subarrays};
  const Block scratch{scratch_.device, scratch_.subarray, scratch_.row, need};
  if (scratch_.device != to.block.device || scratch_.subarray != to.block.subarray ||
      scratch_.shape.rows < need.rows || scratch_.shape.subarrays < need.subarrays)
    refuse("scratch of " + std::to_string(scratch_.shape.rows) + " rows in " +
           std::to_string(scratch_.shape.subarrays) + " subarrays from " + std::to_string(scratch_.subarray) +
           " of device " + std::to_string(scratch_.device) + "; needed are " + std::to_string(need.rows) +
           " rows in " + std::to_string(need.subarrays) + " from " + std::to_string(to.block.subarray) + " of " +
           std::to_string(to.block.device));
  if (overlap(scratch, place_of(geometry, to))) refuse("the scratch rows overlap a vector");
}

template <typename Function, typename... Operands>
void Alu::each(Function function, const Vector& shape, const Operands&... operands) {
  const auto& geometry = array_.geometry();
  need_scratch(shape);
  (need_scratch(operands), ...);
  auto spare = row_group(geometry, shape, 0).first;
  spare.row = scratch_.row;
  if (shape.dim == Dim::horizontal) {
    Horizontal unit(array_, spare, shape.bits);
    for (std::uint32_t group = 0; group < groups_of(geometry, shape); ++group)
      function(unit, [&](const Vector& vector) { return row_group(geometry, vector, group).first; });
    return;
  }
  for (std::uint32_t group = 0; group < groups_of(geometry, shape); ++group) {
    spare.subarrays = row_group(geometry, shape, group).first.subarrays;
    auto carry = spare;
    ++carry.row;
    Vertical unit(array_, spare, carry);
    function(unit, [&](const Vector& vector) { return row_group(geometry, vector, group); });
  }
}

template <typename Function>
void Alu::each_line(const Vector& to, Function function) {
  for (std::uint32_t group = 0; group < groups_of(array_.geometry(), to); ++group) {
    const auto count = row_group(array_.geometry(), to, group).count;
    for (std::uint32_t i = 0; i < count; ++i)
      function([&, group, i](const Vector& vector) {
        const auto lines = row_group(array_.geometry(), vector, group);
        return lines[std::min(i, lines.count - 1)];  // a mask's only row serves all bits
      });
  }
}

void Alu::logic(Gate gate, const Vector& to, const Vector& a, const Vector& b) {
  need_target(to);
  need_operand(to, a);
  need_operand(to, b);
  each_line(to, [&](auto of) { array_.logic(gate, of(to), of(a), of(b)); });
}

void Alu::invert(const Vector& to, const Vector& a) {
  need_target(to);
  need_operand(to, a);
  each_line(to, [&](auto of) { array_.invert(of(to), of(a)); });
}

void Alu::copy(const Vector& to, const Vector& a) {
  need_target(to);
  need_operand(to, a);
  if (same_place(array_.geometry(), to, a)) return;
  each_line(to, [&](auto of) { array_.copy(of(to), of(a)); });
}

void Alu::select(const Vector& to, const Vector& mask, const Vector& a, const Vector& b) {
  need_target(to);
  need_operand(to, a, false);
  need_same_lanes(array_.geometry(), to, mask);
  need_apart(array_.geometry(), to, mask, false);
  if (mask.bits != to.bits && mask.bits != mask_bits(to))
    refuse("a mask of " + std::to_string(mask.bits) + " bits over " + lanes_text(to));
  copy(to, b);
  each_line(to, [&](auto of) { array_.copy(of(to), of(a), Where{of(mask)}); });
}

void Alu::fill(const Vector& to, std::uint64_t value) {
  need_target(to);
  each([&](auto& unit, auto of) { unit.fill(of(to), value); }, to);
}

void Alu::shift(const Vector& to, const Vector& a, std::int64_t by) {
  need_target(to);
  need_operand(to, a);
  const auto most = std::int64_t{to.bits};
  each([&](auto& unit, auto of) { unit.shift(of(to), of(a), std::clamp(by, -most, most)); }, to, a);
}

void Alu::rotate(const Vector& to, const Vector& a, std::uint32_t by) {
  need_target(to);
  need_operand(to, a);
  if (by >= to.bits) refuse("rotation by " + std::to_string(by) + " of elements of " + lanes_text(to));
  if (by == 0) return copy(to, a);
  each([&](auto& unit, auto of) { unit.rotate(of(to), of(a), by); }, to, a);
}

void Alu::add(const Vector& to, const Vector& a, const Vector& b) {
  need_target(to);
  need_operand(to, a);
  need_operand(to, b);
  each([&](auto& unit, auto of) { unit.add(of(to), of(a), of(b)); }, to, a, b);
}

void Alu::add(const Vector& to, const Vector& a, std::uint64_t b) {
  need_target(to);
  need_operand(to, a);
  each([&](auto& unit, auto of) { unit.add(of(to), of(a), b); }, to, a);
}

void Alu::subtract(const Vector& to, const Vector& a, const Vector& b) {
  need_target(to);
  need_operand(to, a);
  need_operand(to, b);
  each([&](auto& unit, auto of) { unit.subtract(of(to), of(a), of(b)); }, to, a, b);
}

void Alu::multiply(const Vector& to, const Vector& a, const Vector& b) {
  need_target(to);
  need_operand(to, a, false);
  need_operand(to, b, false);
  each([&](auto& unit, auto of) { unit.multiply(of(to), of(a), of(b)); }, to, a, b);
}

void Alu::multiply(const Vector& to, const Vector& a, std::uint64_t factor) {
  need_target(to);
  need_operand(to, a, false);
  // The multiple of the lowest set bit is a shift: no addition.
  shift(to, a, std::countr_zero(factor));
  if (factor != 0) add_multiple(to, a, factor & (factor - 1));
}

void Alu::add_multiple(const Vector& to, const Vector& a, std::uint64_t factor) {
  need_target(to);
  need_operand(to, a, false);
  each([&](auto& unit, auto of) { unit.add_multiple(of(to), of(a), factor); }, to, a);
}

void Alu::equal(const Vector& mask, const Vector& a, const Vector& b) {
  need_target(mask);
  need_mask(mask, a);
  need_mask(mask, b);
  need_operand(a, b);
  each([&](auto& unit, auto of) { unit.equal(of(mask), of(a), of(b)); }, mask, a, b);
}

void Alu::equal(const Vector& mask, const Vector& a, std::uint64_t b) {
  need_target(mask);
  need_mask(mask, a);
  if (a.bits < k_max_bits && b >> a.bits != 0) return fill(mask, 0);
  each([&](auto& unit, auto of) { unit.equal(of(mask), of(a), b); }, mask, a);
}

void Alu::compare_lt(const Vector& mask, const Vector& a, const Vector& b) {
  need_target(mask);
  need_mask(mask, a);
  need_mask(mask, b);
  need_operand(a, b);
  each([&](auto& unit, auto of) { unit.compare_lt(of(mask), of(a), of(b)); }, mask, a, b);
}

void Alu::compare_lt(const Vector& mask, const Vector& a, std::uint64_t b) {
  need_target(mask);
  need_mask(mask, a);
  if (a.bits < k_max_bits && b >> a.bits != 0) return fill(mask, ~std::uint64_t{0});
  each([&](auto& unit, auto of) { unit.compare_lt(of(mask), of(a), b); }, mask, a);
}

}  // namespace terrace::pim
