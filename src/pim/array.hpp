// SPDX-License-Identifier: Apache-2.0
// Functional and timing model of a device for processing in memory: stores its bits and executes the operations of
// its sense amplifiers on whole rows, bit for bit, and counts the row cycles that the device would take. Used by
// the arithmetic of vectors (Alu) and their transfers.
//
// The operands of an operation must be in the same subarray, because their columns meet in one stripe of sense
// amplifiers. transfer() copies others there first, at a price of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/units.hpp"
#include "pim/block.hpp"
#include "pim/geometry.hpp"

namespace terrace::pim {

// Cost model of these operations, in row cycles: the time between activations of two rows of the same bank.
// The device's paper (MCHPC'17, section 3.1; "paper" below) gives three figures; all others are assumptions,
// stated at their fields. Another device is another Costs.
//
// Subarrays that a row spans work in lock-step, so an operation costs the same whatever their number. Transfers
// overlap neither one another nor computation, except that each bank's bus moves its own rows concurrently with
// others.
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

// 64 neighbouring columns of a row; bit 0 is the lowest column.
using Word = std::uint64_t;

// A row of neighbouring subarrays, which work in lock-step. `subarray` is numbered through the device as in
// Block.
struct Line {
  std::uint32_t device = 0;
  std::uint32_t subarray = 0;
  std::uint32_t row = 0;
  std::uint32_t subarrays = 1;
  bool operator==(const Line&) const = default;
};

// Predicate: only columns where the mask's bit equals `value` are written.
struct Where {
  Line mask;
  bool value = true;
};

enum class Gate : std::uint8_t { and_, nand, or_, nor, xor_, xnor };

// All functions throw Error{invalid} for a line outside the devices, and for operands in different subarrays. A
// target may be one of its operands. Rows never written read as zeros and take no host memory.
class Array {
 public:
  // Throws Error{invalid} as check() does, and for a bus or an interface of width 0.
  explicit Array(const Geometry& geometry, const Costs& costs = {});

  void logic(Gate gate, const Line& to, const Line& a, const Line& b, const std::optional<Where>& where = {});
  void invert(const Line& to, const Line& from, const std::optional<Where>& where = {});
  void copy(const Line& to, const Line& from, const std::optional<Where>& where = {});
  void fill(const Line& to, bool value, const std::optional<Where>& where = {});
  // Shifts to higher columns if `by` > 0, to lower ones if `by` < 0. Bits shifted out of a subarray are lost;
  // zeros are shifted in. Throws Error{invalid} if `by` is 0 or not less than the columns of a subarray.
  void shift(const Line& to, const Line& from, std::int64_t by);

  // Copies between any two locations, over buses and interfaces; both lines span the same number of subarrays.
  void transfer(const Line& to, const Line& from);

  // Writes a row of one subarray from the host: words() words, of which the bits beyond the columns are
  // ignored.
  void store(const Line& to, std::span<const Word> bits);
  // Reads a row of one subarray for the host.
  [[nodiscard]] std::vector<Word> load(const Line& from);
  // Writes the same bits to the row of every subarray. They are sent once, because all subarrays listen to the
  // bus.
  void broadcast(const Line& to, std::span<const Word> bits);

  [[nodiscard]] const Geometry& geometry() const { return geometry_; }
  [[nodiscard]] const Costs& costs() const { return costs_; }
  [[nodiscard]] std::size_t words() const { return zeros_.size(); }
  // Returns the row cycles since construction.
  [[nodiscard]] const Cycles& cycles() const { return cycles_; }
  [[nodiscard]] std::size_t written_rows() const { return rows_.size(); }

 private:
  void need_inside(const char* what, const Line& line) const;
  void need_beside(const char* what, const Line& to, const Line& other) const;
  [[nodiscard]] std::uint64_t unit(const Line& line, std::uint32_t n) const;
  // Access the line's n-th subarray.
  [[nodiscard]] const Word* read(const Line& line, std::uint32_t n) const;
  Word* write(const Line& line, std::uint32_t n);
  void put(const Line& line, std::uint32_t n, std::span<const Word> bits);
  template <typename Function>
  void compute(const char* what, const Line& to, const Line& a, const Line& b, const std::optional<Where>& where,
               std::uint32_t cost, Function function);

  Geometry geometry_;
  Costs costs_;
  std::uint64_t bus_pass_, interface_pass_;                          // row cycles to move a row of one subarray
  Word last_;                                                        // mask of the columns in a row's last word
  std::vector<Word> zeros_;                                          // contents of an unwritten row
  std::unordered_map<std::uint64_t, std::unique_ptr<Word[]>> rows_;  // by unit
  Cycles cycles_;
};

}  // namespace terrace::pim
