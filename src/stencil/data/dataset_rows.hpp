// SPDX-License-Identifier: Apache-2.0
// Numbers of a part of a dataset that lies at addresses, row by row.
#pragma once

#include <cstddef>

#include "stencil/data/storage.hpp"

namespace terrace::stencil {

// Calls with each row's place in numbers that lie in a row, its distance from the dataset's first element, and its
// length; all in bytes.
template <class Action>
void for_rows(const DatasetInfo& info, const Range& range, Action action) {
  const auto size = static_cast<std::size_t>(range.length(0)) * info.element;
  std::size_t at = 0;
  for (auto z = range.begin[2]; z < range.end[2]; ++z)
    for (auto y = range.begin[1]; y < range.end[1]; ++y, at += size)
      action(at, info.offset({range.begin[0], y, z}), size);
}

// Copies between numbers in a row and a dataset's memory.
void copy_out(const DatasetInfo& info, const std::byte* first, const Range& range, std::byte* values);
void copy_in(const DatasetInfo& info, std::byte* first, const Range& range, const std::byte* values);

}  // namespace terrace::stencil
