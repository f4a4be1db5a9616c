// SPDX-License-Identifier: Apache-2.0
// Defines page sizes, and rounds addresses and sizes to them. Used throughout Terrace.
#pragma once

#include <cstdint>

namespace terrace {

inline constexpr std::uint64_t k_page = 4096;  // as on x86-64; chunks consist of whole pages
inline constexpr std::uint64_t k_huge_page = 2ULL << 20;

// Round to a multiple of `alignment`, a power of two.
constexpr std::uint64_t align_down(std::uint64_t value, std::uint64_t alignment) {
  return value & ~(alignment - 1);
}
constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return align_down(value + alignment - 1, alignment);
}

constexpr std::uint64_t page_down(std::uint64_t address) { return align_down(address, k_page); }
constexpr std::uint64_t page_up(std::uint64_t address) { return align_up(address, k_page); }

// Returns a / b rounded up. Cannot overflow, because it does not add a and b.
constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return a / b + (a % b == 0 ? 0 : 1); }

}  // namespace terrace
