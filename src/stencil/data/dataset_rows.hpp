// SPDX-License-Identifier: Apache-2.0
// Iterates over, and copies, ranges of a dataset that lies in memory, row by row. Used by all executors to get and
// set values.
#pragma once

#include <cstddef>

#include "stencil/data/storage.hpp"

namespace terrace::stencil {

// Calls action(packed_offset, dataset_offset, size) for each row of the range. Packed values lie contiguously,
// x fastest; dataset_offset counts from the dataset's first element. All three are in bytes.
template <class Action>
void for_rows(const DatasetInfo& info, const Range& range, Action action) {
  const auto size = static_cast<std::size_t>(range.length(0)) * info.element;
  std::size_t at = 0;
  for (auto z = range.begin[2]; z < range.end[2]; ++z)
    for (auto y = range.begin[1]; y < range.end[1]; ++y, at += size)
      action(at, info.offset({range.begin[0], y, z}), size);
}

// Copy between packed values and the dataset's memory, which begins at `first`.
void copy_out(const DatasetInfo& info, const std::byte* first, const Range& range, std::byte* values);
void copy_in(const DatasetInfo& info, std::byte* first, const Range& range, const std::byte* values);

}  // namespace terrace::stencil
