// SPDX-License-Identifier: Apache-2.0
// The bits of devices that compute inside their memory, and what their sense amplifiers do with whole rows. Every
// operation does what the device would do, bit for bit, and counts the row cycles that it would take.
//
// The operands of an operation are in the same subarray: their columns meet in one stripe of sense amplifiers.
// What does not is brought there first by transfer(), at a price of its own.
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

// 64 neighbouring columns of a row; the lowest column is the lowest bit.
using Word = std::uint64_t;

// The same row of neighbouring subarrays, on which they work in lock-step. `subarray` counts through the device as
// in Block.
struct Line {
  std::uint32_t device = 0;
  std::uint32_t subarray = 0;
  std::uint32_t row = 0;
  std::uint32_t subarrays = 1;
  bool operator==(const Line&) const = default;
};

// Only columns where the mask's bit is `value` are written.
struct Where {
  Line mask;
  bool value = true;
};

enum class Gate : std::uint8_t { and_, nand, or_, nor, xor_, xnor };

// All functions throw Error{invalid} for a line that is outside the devices, and for operands that are not in
// the same subarrays. A target may be one of its operands. Rows never written hold zeros and take no memory.
class Array {
 public:
  // Throws Error{invalid} as check() does, and for a bus or an interface of no width.
  explicit Array(const Geometry& geometry, const Costs& costs = {});

  void logic(Gate gate, const Line& to, const Line& a, const Line& b, const std::optional<Where>& where = {});
  void invert(const Line& to, const Line& from, const std::optional<Where>& where = {});
  void copy(const Line& to, const Line& from, const std::optional<Where>& where = {});
  void fill(const Line& to, bool value, const std::optional<Where>& where = {});
  // To higher columns where `by` is above 0, to lower ones below. What leaves a subarray at its edge is lost,
  // zeros enter. Throws Error{invalid} where `by` is 0 or not less than the columns of a subarray.
  void shift(const Line& to, const Line& from, std::int64_t by);

  // Between any two places, over buses and interfaces; both lines span as many subarrays.
  void transfer(const Line& to, const Line& from);

  // By the host, a row of one subarray: words() words, of which those bits count that are columns.
  void store(const Line& to, std::span<const Word> bits);
  [[nodiscard]] std::vector<Word> load(const Line& from);
  // The same bits into the row of every subarray, sent once: all of them listen to the bus.
  void broadcast(const Line& to, std::span<const Word> bits);

  [[nodiscard]] const Geometry& geometry() const { return geometry_; }
  [[nodiscard]] const Costs& costs() const { return costs_; }
  [[nodiscard]] std::size_t words() const { return zeros_.size(); }
  // Since the array was made.
  [[nodiscard]] const Cycles& cycles() const { return cycles_; }
  [[nodiscard]] std::size_t written_rows() const { return rows_.size(); }

 private:
  void need_inside(const char* what, const Line& line) const;
  void need_beside(const char* what, const Line& to, const Line& other) const;
  [[nodiscard]] std::uint64_t unit(const Line& line, std::uint32_t n) const;
  // Of the line's n-th subarray.
  [[nodiscard]] const Word* read(const Line& line, std::uint32_t n) const;
  Word* write(const Line& line, std::uint32_t n);
  void put(const Line& line, std::uint32_t n, std::span<const Word> bits);
  template <typename Function>
  void compute(const char* what, const Line& to, const Line& a, const Line& b, const std::optional<Where>& where,
               std::uint32_t cost, Function function);

  Geometry geometry_;
  Costs costs_;
  std::uint64_t bus_pass_, interface_pass_;                          // row cycles for a row of one subarray
  Word last_;                                                        // the columns in a row's last word
  std::vector<Word> zeros_;                                          // what an unwritten row holds
  std::unordered_map<std::uint64_t, std::unique_ptr<Word[]>> rows_;  // by unit
  Cycles cycles_;
};

}  // namespace terrace::pim
