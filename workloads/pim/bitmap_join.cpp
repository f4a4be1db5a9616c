// Implements the bitmap star join: bitmaps of the facts by dimension, ANDed on a PIM device. See bitmap_join.hpp.
#include "workloads/pim/bitmap_join.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"

namespace terrace::pim {
namespace {

struct Range {
  std::uint64_t first, last;
};

std::vector<Range> ranges_of(std::vector<std::uint64_t> keys) {
  std::ranges::sort(keys);
  std::vector<Range> ranges;
  for (const auto key : keys) {
    if (!ranges.empty() && key - ranges.back().last <= 1)
      ranges.back().last = key;
    else
      ranges.push_back({key, key});
  }
  return ranges;
}

void within(Alu& alu, const Vector& to, const Vector& spare, const Vector& column, const Range& range) {
  if (range.first == range.last) return alu.equal(to, column, range.first);
  if (range.last + 1 == 0)
    alu.fill(to, ~std::uint64_t{0});
  else
    alu.compare_lt(to, column, range.last + 1);
  if (range.first == 0) return;
  alu.compare_lt(spare, column, range.first);
  alu.logic(Gate::xor_, to, to, spare);  // elements below the first are also below the last
}

}  // namespace

Joined bitmap_join(Array& array, std::span<const Dimension> dimensions, const Blocks& blocks) {
  if (dimensions.empty()) throw Error(Code::invalid, "a join with no dimensions; it takes at least one");
  const auto& first = dimensions.front().foreign_keys;
  Run run(array, blocks);
  Alu alu(array, run.scratch(first));
  const auto chosen = run.mask(first), some = run.mask(first), range = run.mask(first), spare = run.mask(first);

  alu.fill(chosen, ~std::uint64_t{0});
  for (const auto& dimension : dimensions) {
    const auto column = run.align_to(dimension.foreign_keys, first);
    alu.fill(some, 0);
    for (const auto& keys : ranges_of(dimension.keys)) {
      within(alu, range, spare, column, keys);
      alu.logic(Gate::or_, some, some, range);
    }
    alu.logic(Gate::and_, chosen, chosen, some);
  }

  Joined joined;
  const auto bits = read(array, chosen);
  for (std::uint64_t row = 0; row < bits.size(); ++row)
    if (bits[row] != 0) joined.rows.push_back(row);
  joined.report = run.report();
  return joined;
}

}  // namespace terrace::pim
