// SPDX-License-Identifier: Apache-2.0
// Checks that a loop's range, arguments and lines lie inside its block and datasets. The engine calls it when the
// program declares a loop or a dataset, so errors appear there and not when the chain runs.
#include "stencil/engine/loop_checks.hpp"

#include <cstdlib>

#include "core/error.hpp"
#include "stencil/plan/chain_use.hpp"

namespace terrace::stencil {
namespace {

bool leads_out(const Range& range, const Point& offset) {
  for (std::size_t d = 0; d < k_max_dims; ++d)
    if (std::abs(offset[d]) >= range.length(d)) return true;
  return false;
}

std::string dimensions_text(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " dimension" : " dimensions");
}

// Refuses a loop with a line that does not cover the loop's range.
void check_lines(const Loop& loop) {
  for (std::size_t i = 0; i < loop.lines.size(); ++i) {
    const auto& line = loop.lines[i];
    const auto begin = loop.range.begin[line.axis], end = loop.range.end[line.axis];
    if (line.begin <= begin && line.end >= end) continue;
    throw Error(Code::invalid, "loop '" + loop.name + "', line " + std::to_string(i + 1) + " of " +
                                   std::to_string(loop.lines.size()) + ", along " + "xyz"[line.axis] +
                                   ": it has " + std::to_string(line.end - line.begin) + " values, " +
                                   std::to_string(line.begin) + ".." + std::to_string(line.end) +
                                   ", the loop's range is " + std::to_string(begin) + ".." + std::to_string(end) +
                                   " there: make it cover that range");
  }
}

// Refuses a loop with an argument outside its dataset, of another block, or both read elsewhere and written.
void check_argument(const Loop& loop, std::size_t number, const std::vector<BlockInfo>& blocks,
                    const DatasetInfo& info) {
  const auto& argument = loop.arguments[number];
  const auto refuse = [&](const std::string& why) {
    throw Error(Code::invalid, "loop '" + loop.name + "', dataset '" + info.name + "': " + why);
  };
  if (info.block != loop.block)
    refuse("it is of the block '" + blocks[info.block].name + "', the loop of '" + blocks[loop.block].name + "'");
  const auto reached = reached_range(loop.range, argument);
  if (!info.range.contains(reached))
    refuse("the loop reaches " + text_of(reached) + ", the dataset has " + text_of(info.range));
  for (std::size_t k = 0; k < number; ++k)
    if (loop.arguments[k].dataset == argument.dataset &&
        (writes(argument.access) || writes(loop.arguments[k].access)))
      refuse("it is two arguments, one of which is written: name it once, as read_write");
  if (!writes(argument.access)) return;
  for (const auto& offset : argument.stencil.offsets())
    if (offset != Point{0, 0, 0} && !leads_out(loop.range, offset))
      refuse("it is written and read at an offset that other points of the loop write");
}

}  // namespace

void check_size(const DatasetInfo& info) {
  constexpr double k_max = 0x1p62;
  double bytes = static_cast<double>(info.element) * 2;  // padding included
  for (std::size_t d = 0; d < k_max_dims; ++d) bytes *= static_cast<double>(info.range.length(d) + 128);
  if (bytes > k_max)
    throw Error(Code::invalid, "the dataset '" + info.name + "' has " + text_of(info.range) +
                                   " points: more bytes than a processor has addresses: make the block smaller");
}

void check_order(const std::string& what, const Range& range) {
  for (std::size_t d = 0; d < k_max_dims; ++d)
    if (range.end[d] < range.begin[d])
      throw Error(Code::invalid, what + ": the range " + text_of(range) + " ends before it begins along " +
                                     "xyz"[d] +
                                     ": in braces a range has begin and end of each axis, {{0, nx}, {0, ny}}");
  // Computed ranges may be empty. Two points in braces also look empty, along both axes.
  const auto is_two_points =
      range.sides == 2 && range.length(0) == 0 && range.length(1) == 0 && range.begin[0] < range.begin[1];
  if (is_two_points)
    throw Error(Code::invalid, what + ": the range " + text_of(range) +
                                   " is empty along both axes: in braces a range has begin and end of each axis, "
                                   "{{0, nx}, {0, ny}}; Range::from_to() takes two points");
}

void check_sides(const std::string& what, const Range& range, const BlockInfo& block) {
  check_order(what, range);
  if (range.sides > k_max_dims || (range.sides > 0 && range.sides < block.dims))
    throw Error(Code::invalid, what + ": its range has " + dimensions_text(range.sides) + ", the block '" +
                                   block.name + "' has " + std::to_string(block.dims) +
                                   ": state begin and end in each, {0, 1} for the first layer");
  if (range.empty()) return;
  for (auto d = block.dims; d < k_max_dims; ++d)
    if (range.begin[d] != 0 || range.end[d] != 1)
      throw Error(Code::invalid, what + ": its range " + text_of(range) + " goes into dimension " +
                                     std::to_string(d + 1) + ", the block '" + block.name + "' has " +
                                     dimensions_text(block.dims) + ": make the range 0..1 in the others");
}

void check_loop(const Loop& loop, const std::vector<BlockInfo>& blocks, const std::deque<DatasetInfo>& datasets) {
  check_sides("loop '" + loop.name + "'", loop.range, blocks[loop.block]);
  if (loop.range.empty()) return;
  for (std::size_t i = 0; i < loop.arguments.size(); ++i)
    check_argument(loop, i, blocks, datasets[loop.arguments[i].dataset]);
  check_lines(loop);
}

}  // namespace terrace::stencil
