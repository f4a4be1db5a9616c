// SPDX-License-Identifier: Apache-2.0
// Copies between a dataset in memory and a packed buffer. Executors call it to get and set values for the program,
// and to send them to other ranks.
#include "stencil/data/dataset_rows.hpp"

#include <cstring>

namespace terrace::stencil {

void copy_out(const DatasetInfo& info, const std::byte* first, const Range& range, std::byte* values) {
  for_rows(info, range, [&](std::size_t at, std::ptrdiff_t offset, std::size_t size) {
    std::memcpy(values + at, first + offset, size);
  });
}

void copy_in(const DatasetInfo& info, std::byte* first, const Range& range, const std::byte* values) {
  for_rows(info, range, [&](std::size_t at, std::ptrdiff_t offset, std::size_t size) {
    std::memcpy(first + offset, values + at, size);
  });
}

}  // namespace terrace::stencil
