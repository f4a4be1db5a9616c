// SPDX-License-Identifier: Apache-2.0
// Maintains the LRU order of a set's ways, most recently used first: a byte for each way, packed into words as
// signatures are (signatures.hpp). At most 255 ways; the bytes behind the last one are 255.
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

// Shifts the first `bytes` - 1 bytes up by one, over the last of `bytes`, and sets the first byte to `way`.
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

// Moves a way to the front of the order: it is the most recently used.
[[gnu::always_inline]] inline void make_latest(std::uint64_t* words, std::uint32_t way) {
  std::uint32_t first = 0;
  for (;; first += k_signatures) {
    const std::uint64_t difference = words[first / k_signatures] ^ way * 0x0101010101010101u;
    // The lowest of these bits is exact (signatures.hpp), and each way occurs once.
    const std::uint64_t found = (difference - 0x0101010101010101u) & ~difference & 0x8080808080808080u;
    if (found == 0) continue;
    shift_in(words, first + static_cast<std::uint32_t>(std::countr_zero(found)) / 8 + 1, way);
    return;
  }
}

// Returns the least recently used way, and makes it the most recently used.
[[gnu::always_inline]] inline std::uint32_t take_oldest(std::uint64_t* words, std::uint32_t ways) {
  const std::uint32_t last = ways - 1;
  const std::uint64_t way = words[last / k_signatures] >> 8 * (last % k_signatures) & 0xff;
  shift_in(words, ways, way);
  return static_cast<std::uint32_t>(way);
}

}  // namespace terrace::observe
