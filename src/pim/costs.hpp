// SPDX-License-Identifier: Apache-2.0
// Cost model of processing in memory, in row cycles: the time between activations of two rows of the same bank.
// The device's paper (MCHPC'17, section 3.1; "paper" below) gives three figures; all others are assumptions,
// stated at their fields. Another device is another Costs.
//
// Subarrays that a row spans work in lock-step, so an operation costs the same whatever their number. Transfers
// overlap neither one another nor computation, except that each bank's bus moves its own rows concurrently with
// others.
#pragma once

#include <cstdint>

#include "core/units.hpp"

namespace terrace::pim {

struct Costs {
  // Paper: "AND, NAND, NOR, OR, XOR, XNOR, bit inversion and left/right shifting in as little as three
  // row-cycles": taken as one to read each operand into the accumulator, one to write the result. Chains that
  // leave a value in the accumulator would save some; none are counted.
  std::uint32_t logic = 3;
  // Assumed: an inversion has one operand, but the paper names no less for it.
  std::uint32_t invert = 3;
  // A shift by one column. Assumed: one more for every further column, since a bit reaches only its neighbour.
  std::uint32_t shift = 3;
  std::uint32_t shift_further = 1;
  // Within a subarray. Assumed: the sense amplifiers keep the row while the target is activated (RowClone,
  // MICRO'13).
  std::uint32_t copy = 2;
  // All ones or all zeros. Assumed: the accumulator is forced, the target activated.
  std::uint32_t fill = 1;
  // The paper's operations "under mask, true or false". Assumed: the mask's row is read once more.
  std::uint32_t mask = 1;

  // Opening a row for a transfer, at either end.
  std::uint32_t activation = 1;
  // Paper: each bank "is interconnected to the periphery I/O mechanisms using a 2 Kbit wide data bus". Assumed: a
  // beat every 5 ns, 9 in a row cycle (tCCD_L and tRC = 45.75 ns of DDR4-3200AA, JESD79-4). One subarray's row
  // reaches another of the bank in one pass, another bank in two.
  std::uint32_t bus_bits = 2048;
  std::uint32_t bus_beats = 9;
  // Paper: "a 64 bit DDR4 compatible interface", one for each device. Assumed: 3200 million beats a second, 146 in
  // a row cycle. From device to device the host reads, then writes: two passes.
  std::uint32_t interface_bits = 64;
  std::uint32_t interface_beats = 146;
  std::uint32_t interface_passes = 2;

  // To turn cycles into time: tRC of DDR4-3200AA.
  Seconds row_cycle{45.75e-9};
};

// Row cycles by category.
struct Cycles {
  std::uint64_t compute = 0;  // operations inside subarrays
  std::uint64_t copies = 0;   // rows copied between subarrays: the cost of misplacement
  std::uint64_t host = 0;     // rows transferred from and to the host

  [[nodiscard]] std::uint64_t total() const { return compute + copies + host; }
  bool operator==(const Cycles&) const = default;
  friend Cycles operator-(const Cycles& a, const Cycles& b) {
    return {a.compute - b.compute, a.copies - b.copies, a.host - b.host};
  }
};

inline Seconds time_of(const Costs& costs, const Cycles& cycles) {
  return static_cast<double>(cycles.total()) * costs.row_cycle;
}

}  // namespace terrace::pim
