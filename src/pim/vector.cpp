// SPDX-License-Identifier: Apache-2.0
// Implements the layout of vectors in PIM blocks, their transfer from and to the host, and copies to other
// subarrays. The programs of workloads/pim call it; alu.cpp has the arithmetic. See vector.hpp.
#include "pim/vector.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "core/error.hpp"
#include "pim/row_group.hpp"

namespace terrace::pim {
namespace {

using Square = std::array<Word, 64>;

// Transposes a 64 x 64 bit matrix: bit i of word j becomes bit j of word i (Warren, "Hacker's Delight", 7-3).
void transpose(Square& square) {
  Word mask = 0xFFFFFFFF;
  for (std::uint32_t j = 32; j != 0; j >>= 1, mask ^= mask << j)
    for (std::uint32_t k = 0; k < 64; k = (k + j + 1) & ~j) {
      const auto swapped = ((square[k] >> j) ^ square[k + j]) & mask;
      square[k] ^= swapped << j;
      square[k + j] ^= swapped;
    }
}

Word low_bits(std::uint32_t bits) { return ~Word{0} >> (k_max_bits - bits); }

// Calls rows(values, lines, n) for the elements of every lane: those of the n-th subarray of a group.
template <typename Values, typename Rows>
void each_lane(const Geometry& geometry, const Vector& vector, std::span<Values> values, Rows rows) {
  const auto most = elements_of_a_lane(geometry, vector);
  std::uint64_t first = 0;
  for (std::uint32_t group = 0; group < groups_of(geometry, vector); ++group) {
    const auto lines = row_group(geometry, vector, group);
    for (std::uint32_t n = 0; n < lines.first.subarrays; ++n) {
      const auto here = std::min(most, vector.count - first);
      rows(values.subspan(first, here), lines, n);
      first += here;
    }
  }
}

Line nth(Line line, std::uint32_t n) {
  line.subarray += n;
  line.subarrays = 1;
  return line;
}

std::string named(const Vector& vector) {
  return std::to_string(vector.count) + (vector.dim == Dim::vertical ? " vertical" : " horizontal") +
         " elements of " + std::to_string(vector.bits) + " bits";
}

// Write and read the vertical elements of one subarray, transposed 64 at a time.
void write_down(Array& array, std::span<const std::uint64_t> values, const RowGroup& lines, std::uint32_t n) {
  std::vector<Word> rows(lines.count * array.words());
  for (std::size_t word = 0; word * 64 < values.size(); ++word) {
    const auto some = values.subspan(word * 64, std::min<std::size_t>(64, values.size() - word * 64));
    Square square{};
    std::copy(some.begin(), some.end(), square.begin());
    transpose(square);
    for (std::uint32_t i = 0; i < lines.count; ++i) rows[i * array.words() + word] = square[i];
  }
  for (std::uint32_t i = 0; i < lines.count; ++i)
    array.store(nth(lines[i], n), std::span(rows).subspan(i * array.words(), array.words()));
}

void read_down(Array& array, std::span<std::uint64_t> values, const RowGroup& lines, std::uint32_t n) {
  std::vector<std::vector<Word>> rows;
  for (std::uint32_t i = 0; i < lines.count; ++i) rows.push_back(array.load(nth(lines[i], n)));
  for (std::size_t word = 0; word * 64 < values.size(); ++word) {
    Square square{};
    for (std::uint32_t i = 0; i < lines.count; ++i) square[i] = rows[i][word];
    transpose(square);
    std::copy_n(square.begin(), std::min<std::size_t>(64, values.size() - word * 64), values.begin() + word * 64);
  }
}

// Write and read the horizontal elements of one row.
void write_along(Array& array, std::span<const std::uint64_t> values, std::uint32_t bits, const Line& line) {
  std::vector<Word> row(array.words());
  std::size_t column = 0;
  for (const auto value : values) {
    const auto kept = value & low_bits(bits);
    row[column / 64] |= kept << (column % 64);
    if (column % 64 + bits > 64) row[column / 64 + 1] |= kept >> (64 - column % 64);
    column += bits;
  }
  array.store(line, row);
}

void read_along(Array& array, std::span<std::uint64_t> values, std::uint32_t bits, const Line& line) {
  const auto row = array.load(line);
  std::size_t column = 0;
  for (auto& value : values) {
    value = row[column / 64] >> (column % 64);
    if (column % 64 + bits > 64) value |= row[column / 64 + 1] << (64 - column % 64);
    value &= low_bits(bits);
    column += bits;
  }
}

void need_as_many(const Vector& vector, std::size_t values) {
  if (values != vector.count) throw Error(Code::invalid, std::to_string(values) + " values for " + named(vector));
}

}  // namespace

// Refuses a vector whose block does not hold it; called by all operations on vectors.
void check(const Geometry& geometry, const Vector& vector) {
  const auto& block = vector.block;
  if (vector.count == 0 || vector.bits == 0 || vector.bits > k_max_bits)
    throw Error(Code::invalid, named(vector) + ": pass at least one element, of 1 to 64 bits");
  if (vector.dim == Dim::horizontal && vector.bits > geometry.columns)
    throw Error(Code::invalid, named(vector) + ": a subarray has " + std::to_string(geometry.columns) +
                                   " columns; take elements of fewer bits");
  if (vector.rotation >= vector.bits || (vector.rotation != 0 && vector.dim == Dim::horizontal))
    throw Error(Code::invalid,
                named(vector) + ", rotated by " + std::to_string(vector.rotation) +
                    ": pass a rotation below the bits of a vertical vector, or 0 for a horizontal one");
  if (block.shape.rows == 0 || block.shape.subarrays == 0 || block.device >= geometry.devices ||
      std::uint64_t{block.row} + block.shape.rows > geometry.rows ||
      std::uint64_t{block.subarray} + block.shape.subarrays > geometry.width())
    throw Error(Code::invalid,
                named(vector) + ": the block is outside of " + describe(geometry) + "; pass a block inside");
  const auto groups = (lanes_of(geometry, vector) - 1) / block.shape.subarrays + 1;
  const auto deep = vector.dim == Dim::vertical ? vector.bits : 1;
  if (groups > block.shape.rows / deep)
    throw Error(Code::invalid, named(vector) + " do not fit into " + std::to_string(block.shape.rows) +
                                   " rows of " + std::to_string(block.shape.subarrays) +
                                   " subarrays; pass a larger block");
}

Shape extent_of(const Geometry& geometry, const Vector& vector) {
  check(geometry, vector);
  const auto lines = row_group(geometry, vector, 0);
  return {groups_of(geometry, vector) * lines.count, lines.first.subarrays};
}

Block place_of(const Geometry& geometry, const Vector& vector) {
  return {vector.block.device, vector.block.subarray, vector.block.row, extent_of(geometry, vector)};
}

// Returns whether two blocks share a row of a subarray.
bool overlap(const Block& a, const Block& b) {
  const auto meet = [](std::uint64_t first, std::uint64_t length, std::uint64_t other,
                       std::uint64_t other_length) {
    return first < other + other_length && other < first + length;
  };
  return a.device == b.device && meet(a.row, a.shape.rows, b.row, b.shape.rows) &&
         meet(a.subarray, a.shape.subarrays, b.subarray, b.shape.subarrays);
}

Vector rotated(const Vector& vector, std::uint32_t by) {
  if (vector.dim != Dim::vertical || vector.bits == 0)
    throw Error(Code::invalid,
                named(vector) + ": only vertical vectors rotate by renaming rows; call Alu::rotate()");
  auto result = vector;
  result.rotation = (vector.rotation + vector.bits - by % vector.bits) % vector.bits;
  return result;
}

std::uint32_t mask_bits(const Vector& vector) { return vector.dim == Dim::vertical ? 1 : vector.bits; }

Vector mask_over(const Vector& vector, const Block& block) {
  return {block, vector.count, mask_bits(vector), vector.dim, 0};
}

// Writes elements from the host, transposed where they are vertical.
void write(Array& array, const Vector& vector, std::span<const std::uint64_t> values) {
  check(array.geometry(), vector);
  need_as_many(vector, values.size());
  each_lane(array.geometry(), vector, values, [&](auto some, const RowGroup& lines, std::uint32_t n) {
    if (vector.dim == Dim::vertical)
      write_down(array, some, lines, n);
    else
      write_along(array, some, vector.bits, nth(lines.first, n));
  });
}

// Reads the elements for the host.
std::vector<std::uint64_t> read(Array& array, const Vector& vector) {
  check(array.geometry(), vector);
  std::vector<std::uint64_t> values(vector.count);
  each_lane(array.geometry(), vector, std::span(values), [&](auto some, const RowGroup& lines, std::uint32_t n) {
    if (vector.dim == Dim::vertical)
      read_down(array, some, lines, n);
    else
      read_along(array, some, vector.bits, nth(lines.first, n));
  });
  return values;
}

std::uint64_t count(Array& array, const Vector& mask) {
  const auto values = read(array, mask);
  return static_cast<std::uint64_t>(std::ranges::count_if(values, [](auto value) { return value != 0; }));
}

bool is_row_aligned(const Geometry& geometry, const Vector& a, const Vector& b) {
  return a.block.device == b.block.device && a.block.subarray == b.block.subarray &&
         extent_of(geometry, a).subarrays == extent_of(geometry, b).subarrays;
}

// Copies a vector to another block, to align it with the operands of an operation.
Vector copied(Array& array, const Vector& vector, const Block& to) {
  const auto& geometry = array.geometry();
  auto copy = vector;
  copy.block = to;
  check(geometry, vector);
  check(geometry, copy);
  const auto extent = extent_of(geometry, vector);
  if (extent_of(geometry, copy) != extent)
    throw Error(Code::invalid, named(vector) + " fill " + std::to_string(extent.subarrays) +
                                   " subarrays, but the target block has " + std::to_string(to.shape.subarrays) +
                                   "; pass one with equally many");
  if (overlap(place_of(geometry, vector), place_of(geometry, copy)))
    throw Error(Code::invalid, named(vector) + ": the block at row " + std::to_string(to.row) +
                                   " overlaps the vector that is copied from row " +
                                   std::to_string(vector.block.row) + "; pass a block that does not overlap it");
  const bool here = is_row_aligned(geometry, vector, copy);
  for (std::uint32_t group = 0; group < groups_of(geometry, vector); ++group) {
    const auto source = row_group(geometry, vector, group), target = row_group(geometry, copy, group);
    for (std::uint32_t i = 0; i < source.count; ++i)
      here ? array.copy(target[i], source[i]) : array.transfer(target[i], source[i]);
  }
  return copy;
}

Vector align_to(Array& array, const Vector& vector, const Vector& target, const Blocks& blocks) {
  if (is_row_aligned(array.geometry(), vector, target)) return vector;
  const auto copy = copied(array, vector, blocks(extent_of(array.geometry(), vector)));
  if (!is_row_aligned(array.geometry(), copy, target))
    throw Error(Code::invalid,
                "align_to(): the block for the copy is in subarray " + std::to_string(copy.block.subarray) +
                    " of device " + std::to_string(copy.block.device) + ", the target in subarray " +
                    std::to_string(target.block.subarray) + " of device " + std::to_string(target.block.device) +
                    "; pass a block in the target's subarrays");
  return copy;
}

}  // namespace terrace::pim
