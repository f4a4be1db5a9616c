// SPDX-License-Identifier: Apache-2.0
// Functional and timing model of a device for processing in memory: stores its bits and executes the operations
// of its sense amplifiers on whole rows, bit for bit, and counts the row cycles that the device would take.
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

#include "pim/block.hpp"
#include "pim/costs.hpp"
#include "pim/geometry.hpp"

namespace terrace::pim {

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
