// SPDX-License-Identifier: Apache-2.0
// Finds a line in a set by signatures: one byte of each line, packed into words, compares eight ways at a time in
// plain integer arithmetic (SIMD within a register).
#pragma once

#include <bit>
#include <cstdint>

namespace terrace::observe {

inline constexpr std::uint32_t k_signatures = 8;  // in a word

[[nodiscard]] constexpr std::uint32_t signature_words(std::uint32_t ways) {
  return (ways + k_signatures - 1) / k_signatures;
}

// Returns the signature of a line, repeated in each byte. Hashes all bits, because lines of one set differ by
// multiples of the number of sets.
[[nodiscard]] constexpr std::uint64_t signature_of(std::uint64_t line) {
  return ((line * 0x9E3779B97F4A7C15u) >> 56) * 0x0101010101010101u;
}

inline void set_signature(std::uint64_t* words, std::uint32_t way, std::uint64_t signature) {
  const unsigned shift = 8 * (way % k_signatures);
  std::uint64_t& word = words[way / k_signatures];
  word = (word & ~(std::uint64_t{0xff} << shift)) | (signature & 0xff) << shift;
}

// Returns the first way for which `is_it` is true among those whose byte may equal `signature` (all that do, and a
// few false positives); `none` where there is no such way.
template <class IsIt>
[[gnu::always_inline]] inline std::uint32_t find_way(const std::uint64_t* words, std::uint32_t ways,
                                                     std::uint64_t signature, std::uint32_t none, IsIt is_it) {
  for (std::uint32_t first = 0; first < ways; first += k_signatures) {
    // Sets the high bit of the lowest zero byte of the difference; a borrow may also set those of bytes above it
    // that are 1.
    const std::uint64_t difference = words[first / k_signatures] ^ signature;
    std::uint64_t candidates = (difference - 0x0101010101010101u) & ~difference & 0x8080808080808080u;
    for (; candidates != 0; candidates &= candidates - 1) {
      const std::uint32_t way = first + static_cast<std::uint32_t>(std::countr_zero(candidates)) / 8;
      if (way < ways && is_it(way)) return way;
    }
  }
  return none;
}

}  // namespace terrace::observe
