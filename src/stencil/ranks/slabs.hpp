// Large ranges in pieces, so that what copies them needs little memory.
#pragma once

#include <algorithm>
#include <cstddef>

#include "stencil/engine/storage.hpp"

namespace terrace::stencil {

inline constexpr std::size_t k_slab = std::size_t{16} << 20U;  // bytes

// Calls with pieces of a range of elements of so many bytes, the first points first; each has at most k_slab
// bytes, or is one row.
template <class Action>
void for_slabs(const Range& range, std::size_t element, Action action, std::size_t d = k_most_dims - 1) {
  if (range.empty()) return;
  const auto bytes = static_cast<std::size_t>(range.points()) * element;
  if (bytes <= k_slab || d == 0) {
    action(range);
    return;
  }
  const auto layer = bytes / static_cast<std::size_t>(range.length(d));
  const auto count = std::max<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(k_slab / layer), 1);
  for (auto begin = range.begin[d]; begin < range.end[d]; begin += count) {
    Range slab = range;
    slab.begin[d] = begin;
    slab.end[d] = std::min(begin + count, range.end[d]);
    for_slabs(slab, element, action, d - 1);
  }
}

// Numbers of a range that lie in a row, x fastest.
[[nodiscard]] inline DatasetAbout packed(const Range& range, std::size_t element) {
  DatasetAbout about;
  about.element = element;
  about.range = range;
  about.row = range.length(0);
  about.plane = about.row * range.length(1);
  return about;
}

}  // namespace terrace::stencil
