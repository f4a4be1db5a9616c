// SPDX-License-Identifier: Apache-2.0
// Defines the size classes of small blocks: 16, 32, 48, 64, 80, 96, 112, 128, then four to each doubling, so that
// at most a quarter of a block is wasted. Used by the arenas and by the agent's internal heap.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

namespace terrace::memory {

constexpr std::size_t size_class_of(std::size_t size) {
  if (size <= 128) return (std::max<std::size_t>(size, 1) - 1) / 16;
  const auto doubling =
      static_cast<std::size_t>(std::bit_width(size - 1)) - 1;  // size in (2^doubling, 2^(doubling+1)]
  return 8 + (doubling - 7) * 4 + (size - 1 - (std::size_t{1} << doubling)) / (std::size_t{1} << (doubling - 2));
}

constexpr std::size_t size_of_class(std::size_t size_class) {
  if (size_class < 8) return (size_class + 1) * 16;
  const auto doubling = 7 + (size_class - 8) / 4;
  return (std::size_t{1} << doubling) + ((size_class - 8) % 4 + 1) * (std::size_t{1} << (doubling - 2));
}

static_assert(size_of_class(size_class_of(128)) == 128 && size_of_class(size_class_of(129)) == 160);
static_assert(size_of_class(size_class_of(256)) == 256 && size_of_class(size_class_of(32768)) == 32768);

}  // namespace terrace::memory
