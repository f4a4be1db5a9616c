// Computes R = Q * A + B on a PIM device (MCHPC'17, section 3.2) and measures the cost of misplaced operands.
#pragma once

#include <cstdint>

#include "workloads/pim/program.hpp"

namespace terrace::pim {

// Copies operands that are not row-aligned with R: B into R itself, A into a block of `blocks`, which also
// supplies the scratch rows. R may be B, but not A.
Report axpy(Array& array, const Vector& r, std::uint64_t q, const Vector& a, const Vector& b,
            const Blocks& blocks);

struct Misplacement {
  Cycles together;        // A, B and R begin in the same subarray
  Cycles other_subarray;  // A and B in other subarrays of R's bank
  Cycles other_bank;
  Cycles other_device;
};

// Runs the same AXPY on `count` elements of `bits` bits with its operands at each distance, on arrays of its
// own. Throws Error{invalid} if a bank is too narrow for the vectors and their copies, or if there is only one
// bank or device.
Misplacement misplaced_axpy(const Geometry& geometry, const Costs& costs, std::uint64_t count, std::uint32_t bits,
                            Dim dim, std::uint64_t q);

}  // namespace terrace::pim
