// SPDX-License-Identifier: Apache-2.0
// See dataset_rows.hpp.
#include "stencil/data/dataset_rows.hpp"

#include <cstring>

namespace terrace::stencil {

void copy_out(const DatasetAbout& about, const std::byte* first, const Range& range, std::byte* numbers) {
  for_rows(about, range, [&](std::size_t at, std::ptrdiff_t offset, std::size_t size) {
    std::memcpy(numbers + at, first + offset, size);
  });
}

void copy_in(const DatasetAbout& about, std::byte* first, const Range& range, const std::byte* numbers) {
  for_rows(about, range, [&](std::size_t at, std::ptrdiff_t offset, std::size_t size) {
    std::memcpy(first + offset, numbers + at, size);
  });
}

}  // namespace terrace::stencil
