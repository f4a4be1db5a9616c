// One byte of each line of a set, packed into words: which ways may hold a line is answered eight ways at a time,
// in plain integer arithmetic.
#pragma once

#include <bit>
#include <cstdint>

namespace terrace::observe {

inline constexpr std::uint32_t k_signatures = 8;  // in a word

[[nodiscard]] constexpr std::uint32_t signature_words(std::uint32_t ways) {
  return (ways + k_signatures - 1) / k_signatures;
}

// Lines of one set differ by multiples of the number of sets: all bits take part. Repeated in each byte of the
// word.
[[nodiscard]] constexpr std::uint64_t signature_of(std::uint64_t line) {
  return ((line * 0x9E3779B97F4A7C15u) >> 56) * 0x0101010101010101u;
}

inline void set_signature(std::uint64_t* words, std::uint32_t way, std::uint64_t signature) {
  const unsigned shift = 8 * (way % k_signatures);
  std::uint64_t& word = words[way / k_signatures];
  word = (word & ~(std::uint64_t{0xff} << shift)) | (signature & 0xff) << shift;
}

// The first way for which `is_it` holds, among those whose byte may equal `signature` (all that do, and a few that
// do not); `none` when there is no such way.
template <class IsIt>
[[gnu::always_inline]] inline std::uint32_t find_way(const std::uint64_t* words, std::uint32_t ways,
                                                     std::uint64_t signature, std::uint32_t none, IsIt is_it) {
  for (std::uint32_t first = 0; first < ways; first += k_signatures) {
    // The lowest zero byte of the difference shows in its high bit; a borrow may show bytes above it that are one.
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
