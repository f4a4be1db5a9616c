// SPDX-License-Identifier: Apache-2.0
// Validates and executes copies of field data between datasets, with permuted or mirrored axes. The engine checks
// a transfer when the program declares it; executors execute it between two chains.
#include "stencil/data/block_transfer.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/error.hpp"
#include "stencil/data/slabs.hpp"

namespace terrace::stencil {
namespace {

bool is_straight(const Orientation& orientation) {
  return orientation.axes == Orientation{}.axes && orientation.flipped == Orientation{}.flipped;
}

// Permutes packed values of the source, x fastest, into the order of the target's points.
std::vector<std::byte> turned(const std::vector<std::byte>& values, const Range& source, const Range& target,
                              const Orientation& orientation, std::size_t element) {
  // Strides along each of the source's axes, then along each of the target's.
  const std::array<std::ptrdiff_t, k_max_dims> strides{1, source.length(0), source.length(0) * source.length(1)};
  std::array<std::ptrdiff_t, k_max_dims> steps{};
  std::ptrdiff_t first = 0;
  for (std::size_t d = 0; d < k_max_dims; ++d) {
    const auto axis = orientation.axes[d];
    steps[d] = orientation.flipped[d] ? -strides[axis] : strides[axis];
    if (orientation.flipped[d]) first += strides[axis] * (source.length(axis) - 1);
  }
  std::vector<std::byte> all(values.size());
  auto* to = all.data();
  for (std::ptrdiff_t z = 0; z < target.length(2); ++z)
    for (std::ptrdiff_t y = 0; y < target.length(1); ++y)
      for (std::ptrdiff_t x = 0; x < target.length(0); ++x, to += element) {
        const auto at = first + x * steps[0] + y * steps[1] + z * steps[2];
        std::memcpy(to, &values[static_cast<std::size_t>(at) * element], element);
      }
  return all;
}

}  // namespace

// Refuses a transfer that does not fit its datasets, when the program declares it.
void check(const BlockTransfer& transfer, const DatasetInfo& from, const DatasetInfo& to) {
  const auto where = "transfer from '" + from.name + "' to '" + to.name + "': ";
  const auto refuse = [&](const std::string& why) { throw Error(Code::invalid, where + why); };
  auto axes = transfer.orientation.axes;
  std::ranges::sort(axes);
  if (axes != Orientation{}.axes) refuse("its axes are not 0, 1 and 2, each once");
  for (std::size_t d = 0; d < k_max_dims; ++d) {
    const auto axis = transfer.orientation.axes[d];
    if (transfer.from_range.length(axis) != transfer.to_range.length(d))
      refuse(text_of(transfer.from_range) + " does not fit to " + text_of(transfer.to_range) + ": axis " +
             std::to_string(axis) + " has " + std::to_string(transfer.from_range.length(axis)) + " points, axis " +
             std::to_string(d) + " of the target " + std::to_string(transfer.to_range.length(d)));
  }
  for (const auto* const one : {&from, &to}) {
    const auto& range = one == &from ? transfer.from_range : transfer.to_range;
    if (one->is_temporary)
      refuse("'" + one->name + "' is temporary, and its values do not outlive a chain: declare it as a dataset");
    if (!one->range.contains(range))
      refuse("it reaches " + text_of(range) + ", the dataset '" + one->name + "' has " + text_of(one->range));
  }
  if (from.id == to.id && !intersection(transfer.from_range, transfer.to_range).empty())
    refuse("it reads points that it writes: choose ranges that do not overlap");
}

Range source_of(const BlockTransfer& transfer, const Range& part) {
  Range source;
  for (std::size_t d = 0; d < k_max_dims; ++d) {
    const auto axis = transfer.orientation.axes[d];
    const auto begin = part.begin[d] - transfer.to_range.begin[d], end = part.end[d] - transfer.to_range.begin[d];
    const auto is_flipped = transfer.orientation.flipped[d];
    source.begin[axis] =
        is_flipped ? transfer.from_range.end[axis] - end : transfer.from_range.begin[axis] + begin;
    source.end[axis] = source.begin[axis] + (end - begin);
  }
  return source;
}

void execute_transfer(const BlockTransfer& transfer, const Range& part, const Getter& get, const Setter& set) {
  std::vector<std::byte> values;
  for_slabs(part, k_slab / transfer.element, [&](const Range& target) {
    const auto source = source_of(transfer, target);
    values.resize(target.points() * transfer.element);
    get(transfer.from, source, values.data());
    if (!is_straight(transfer.orientation))
      values = turned(values, source, target, transfer.orientation, transfer.element);
    set(transfer.to, target, values.data());
  });
}

}  // namespace terrace::stencil
