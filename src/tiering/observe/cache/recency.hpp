// The ways of a set in the order of their use, latest first: a byte each, packed into words as signatures are
// (signatures.hpp). At most 255 ways; the bytes behind the last one are 255.
#pragma once

#include <bit>
#include <cstdint>

#include "observe/cache/signatures.hpp"

namespace terrace::observe {

inline constexpr std::uint32_t k_max_ways = 255;

inline void begin_recency(std::uint64_t* words, std::uint32_t ways) {
  for (std::uint32_t at = 0; at < signature_words(ways) * k_signatures; ++at)
    set_signature(words, at, at < ways ? at : 0xff);
}

// The bytes before the last of `bytes` move up by one, over it, and `way` becomes the first.
[[gnu::always_inline]] inline void shift_in(std::uint64_t* words, std::uint32_t bytes, std::uint64_t way) {
  const std::uint32_t last = (bytes - 1) / k_signatures;
  for (std::uint32_t at = 0; at < last; ++at) {
    const std::uint64_t word = words[at];
    words[at] = word << 8 | way;
    way = word >> 56;
  }
  const std::uint64_t moved = ~std::uint64_t{0} >> (56 - 8 * ((bytes - 1) % k_signatures));
  words[last] = (words[last] & ~moved) | ((words[last] << 8 | way) & moved);
}

// A way that is used becomes the latest.
[[gnu::always_inline]] inline void make_latest(std::uint64_t* words, std::uint32_t way) {
  std::uint32_t first = 0;
  for (;; first += k_signatures) {
    const std::uint64_t difference = words[first / k_signatures] ^ way * 0x0101010101010101u;
    // The lowest of these marks is exact (signatures.hpp), and each way is there once.
    const std::uint64_t found = (difference - 0x0101010101010101u) & ~difference & 0x8080808080808080u;
    if (found == 0) continue;
    shift_in(words, first + static_cast<std::uint32_t>(std::countr_zero(found)) / 8 + 1, way);
    return;
  }
}

// The way that was used longest ago, which becomes the latest.
[[gnu::always_inline]] inline std::uint32_t take_oldest(std::uint64_t* words, std::uint32_t ways) {
  const std::uint32_t last = ways - 1;
  const std::uint64_t way = words[last / k_signatures] >> 8 * (last % k_signatures) & 0xff;
  shift_in(words, ways, way);
  return static_cast<std::uint32_t>(way);
}

}  // namespace terrace::observe
