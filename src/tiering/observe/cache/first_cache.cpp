// SPDX-License-Identifier: Apache-2.0
// Implements the replacement of lines in the simulated first-level cache, which the access pipeline of each thread
// (observe/pipeline) looks up for every access that a hook reports. Hits are inline in the header,
// first_cache.hpp.
#include "observe/cache/first_cache.hpp"

#include <algorithm>
#include <bit>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace terrace::observe {

namespace {

constexpr unsigned k_way_bits = 8;

#if defined(__SSE2__)

// Returns the least recently used way. Branch-free, because the branch would be mispredicted; compares two ways at
// a time. Packs time and way into one 64-bit key, whose bits form a positive normal double: doubles order like the
// keys, and SSE2 has a minimum of doubles but none of 64-bit integers.
std::uint32_t oldest_of(const std::uint64_t* used, std::uint32_t ways) {
  const auto keys = [used](std::uint32_t way, __m128i ways_of_keys) {
    const __m128i times = _mm_load_si128(reinterpret_cast<const __m128i*>(used + way));
    return _mm_castsi128_pd(_mm_or_si128(_mm_slli_epi64(times, k_way_bits), ways_of_keys));
  };
  const __m128i step = _mm_set1_epi64x(2);
  __m128i of_keys = _mm_set_epi64x(std::int64_t{1} << 62 | 1, std::int64_t{1} << 62);
  __m128d oldest = keys(0, of_keys);
  std::uint32_t way = 2;
  for (; way + 1 < ways; way += 2) {
    of_keys = _mm_add_epi64(of_keys, step);
    oldest = _mm_min_pd(oldest, keys(way, of_keys));
  }
  __m128d high = _mm_unpackhi_pd(oldest, oldest);
  if (way < ways) high = _mm_min_sd(high, keys(way, _mm_add_epi64(of_keys, step)));
  const auto key = ways == 1 ? oldest : _mm_min_sd(oldest, high);
  return static_cast<std::uint32_t>(_mm_cvtsi128_si64(_mm_castpd_si128(key)) & ((1u << k_way_bits) - 1));
}

#else

// Returns the least recently used way: branch-free minimum of keys that pack time and way into one word.
std::uint32_t oldest_of(const std::uint64_t* used, std::uint32_t ways) {
  std::uint64_t oldest = ~std::uint64_t{0};
  for (std::uint32_t way = 0; way < ways; ++way) oldest = std::min(oldest, used[way] << k_way_bits | way);
  return static_cast<std::uint32_t>(oldest & ((1u << k_way_bits) - 1));
}

#endif

}  // namespace

FirstCache::FirstCache(Bytes size, std::uint32_t ways, Bytes line, FastTable& table)
    : geometry_(size, ways, line),
      line_bits_(static_cast<unsigned>(std::countr_zero(line.value))),
      table_(table),
      ways_((geometry_.ways + 1) / 2 * 2),
      signature_words_(signature_words(geometry_.ways)) {
  const auto rounded_up = [](std::uint64_t words) {
    return (words + k_host_line_words - 1) / k_host_line_words * k_host_line_words;
  };
  const std::uint64_t slots = rounded_up(geometry_.sets * ways_);
  memory_ = std::make_unique<std::uint64_t[]>(3 * slots + geometry_.sets * signature_words_ + k_host_line_words);
  used_ = reinterpret_cast<std::uint64_t*>(rounded_up(reinterpret_cast<std::uint64_t>(memory_.get()) / 8) * 8);
  words_ = used_ + slots;
  line_begins_ = words_ + slots;
  signatures_ = line_begins_ + slots;
}

std::uint32_t FirstCache::insert(std::uint64_t line, std::uint64_t set, std::uint64_t flags, std::uint64_t from,
                                 std::uint64_t& victim) {
  const std::uint64_t first = set * ways_;
  const std::uint32_t victim_way = oldest_of(used_ + first, geometry_.ways);
  const auto slot = static_cast<std::uint32_t>(first) + victim_way;
  std::uint64_t& word = words_[slot];
  std::uint64_t& begin = line_begins_[slot];
  victim = word;
  if (victim != 0) {
    // A line that is not aligned in this process (in a stack) may have two entries.
    const std::uint64_t last = begin + (std::uint64_t{1} << line_bits_) - 1;
    invalidate(begin);
    if (begin >> line_bits_ != last >> line_bits_) invalidate(last);
    ++evictions_;
  }
  ++fills_;
  word = word::of(line) | flags;
  begin = from;
  set_signature(signatures_ + set * signature_words_, victim_way, signature_of(line));
  return slot;
}

std::uint64_t FirstCache::num_resident() const {
  std::uint64_t lines = 0;
  for (std::uint64_t set = 0; set < geometry_.sets; ++set) {
    const std::uint64_t* const words = words_ + set * ways_;
    lines += static_cast<std::uint64_t>(
        std::count_if(words, words + geometry_.ways, [](std::uint64_t word) { return word != 0; }));
  }
  return lines;
}

}  // namespace terrace::observe
