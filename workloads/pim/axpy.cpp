// Implements AXPY on a PIM device, and the copies of misplaced operands. See axpy.hpp.
#include "workloads/pim/axpy.hpp"

#include <string>

#include "core/error.hpp"

namespace terrace::pim {

Report axpy(Array& array, const Vector& r, std::uint64_t q, const Vector& a, const Vector& b,
            const Blocks& blocks) {
  if (b.count != r.count || b.bits != r.bits || b.dim != r.dim || b.rotation != r.rotation)
    throw Error(Code::invalid, "AXPY: B has " + std::to_string(b.count) + " elements of " +
                                   std::to_string(b.bits) + " bits, R " + std::to_string(r.count) + " of " +
                                   std::to_string(r.bits) + "; they must lie alike");
  Run run(array, blocks);
  run.uses(r);
  Alu alu(array, run.scratch(r));
  const auto near = run.align_to(a, r);
  if (!is_row_aligned(array.geometry(), b, r)) {
    copied(array, b, r.block);
  } else {
    if (!(b.block == r.block)) run.uses(b);
    alu.copy(r, b);
  }
  alu.add_multiple(r, near, q);
  return run.report();
}

Misplacement misplaced_axpy(const Geometry& geometry, const Costs& costs, std::uint64_t count, std::uint32_t bits,
                            Dim dim, std::uint64_t q) {
  auto bank = geometry;
  bank.banks = bank.devices = 1;
  const auto shape = shape_of_elements(bank, count, bits, dim);
  const auto need = [&](bool holds, const std::string& what) {
    if (!holds) throw Error(Code::invalid, what + "; there are " + describe(geometry));
  };
  need(3 * shape.rows + scratch_rows(dim) <= geometry.rows,
       "operands of " + std::to_string(shape.rows) + " rows and scratch need thrice that and more in a subarray");
  need(2 * shape.subarrays <= geometry.subarrays,
       "operands in " + std::to_string(shape.subarrays) + " subarrays need twice that in a bank");
  need(geometry.banks > 1 && geometry.devices > 1, "another bank and another device need two of each");

  const auto at = [&](std::uint32_t device, std::uint32_t subarray) {
    Array array(geometry, costs);
    const auto vector = [&](std::uint32_t on, std::uint32_t place, std::uint32_t row) {
      return Vector{{on, place, row, shape}, count, bits, dim, 0};
    };
    // R is in the first rows; A and B follow below or elsewhere.
    auto next = (device == 0 && subarray == 0 ? 3 : 1) * shape.rows;
    const auto blocks = [&](const Shape& asked) {
      const Block block{0, 0, next, asked};
      next += asked.rows;
      return block;
    };
    return axpy(array, vector(0, 0, 0), q, vector(device, subarray, shape.rows),
                vector(device, subarray, 2 * shape.rows), blocks)
        .cycles;
  };
  return {at(0, 0), at(0, shape.subarrays), at(0, geometry.subarrays), at(1, 0)};
}

}  // namespace terrace::pim
