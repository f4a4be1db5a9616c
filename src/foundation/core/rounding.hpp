// Pages, and numbers rounded to steps.
#pragma once

#include <cstdint>

namespace terrace {

inline constexpr std::uint64_t k_page = 4096;  // of x86-64; chunks are whole numbers of them
inline constexpr std::uint64_t k_huge_page = 2ULL << 20;

// To a multiple of the alignment, a power of two.
constexpr std::uint64_t align_down(std::uint64_t value, std::uint64_t alignment) {
  return value & ~(alignment - 1);
}
constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return align_down(value + alignment - 1, alignment);
}

constexpr std::uint64_t page_down(std::uint64_t address) { return align_down(address, k_page); }
constexpr std::uint64_t page_up(std::uint64_t address) { return align_up(address, k_page); }

// The quotient, rounded up; no sum of the two is formed, so that none overflows.
constexpr std::uint64_t divided_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b == 0 ? 0 : 1); }

}  // namespace terrace
