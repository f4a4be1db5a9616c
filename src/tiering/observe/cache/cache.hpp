// SPDX-License-Identifier: Apache-2.0
// Simulates a set-associative cache (true LRU, write-back, write-allocate) for the pipeline, which simulates the
// caches and the TLB of each thread of an instrumented program. The set is the line number modulo the number of
// sets; lines are numbered by canonical address, which is independent of address randomisation. The number of sets
// need not be a power of two: a cache of 636 KiB and 20 ways has 508 (lines that do not fill a set are dropped).
// Lines stay in their ways; each set keeps the LRU order of its ways. Not thread-safe.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>

#include "core/units.hpp"

namespace terrace::observe {

// Finds a line in a set by signatures: one byte of each line, packed into words, compares eight ways at a time in
// plain integer arithmetic (SIMD within a register).
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

// Maintains the LRU order of a set's ways, most recently used first: a byte for each way, packed into words as
// signatures are. At most 255 ways; the bytes behind the last one are 255.
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
    // The lowest of these bits is exact, as in find_way(), and each way occurs once.
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

// Packs a cached line into a word: its number and flags. 0 is an empty way.
namespace word {
inline constexpr std::uint64_t k_valid = 1;
inline constexpr std::uint64_t k_dirty = 2;
inline constexpr std::uint64_t k_followed = 4;  // first cache only: loaded values are tracked (dependence.hpp)
inline constexpr unsigned k_shift = 3;
[[nodiscard]] constexpr std::uint64_t of(std::uint64_t line) { return line << k_shift | k_valid; }
[[nodiscard]] constexpr std::uint64_t line(std::uint64_t word) { return word >> k_shift; }
}  // namespace word

// Number of sets and ways of a cache, and the mapping of lines to sets.
struct CacheGeometry {
  // Limits the number of ways to the number of lines and to k_max_ways.
  CacheGeometry(Bytes size, std::uint32_t wanted_ways, Bytes line);
  // Returns the set of a line.
  [[nodiscard]] std::uint64_t index(std::uint64_t line) const {
    // line mod sets by multiplication with (2^64 - 1) / sets; the quotient is exact or one too small.
    __extension__ using Wide = unsigned __int128;
    const auto quotient = static_cast<std::uint64_t>((static_cast<Wide>(line) * reciprocal) >> 64);
    const std::uint64_t rest = line - quotient * sets;
    return rest >= sets ? rest - sets : rest;
  }
  std::uint64_t sets;
  std::uint32_t ways;
  std::uint64_t reciprocal;
};

class Cache {
 public:
  Cache(Bytes size, std::uint32_t ways, Bytes line);

  struct Outcome {
    bool hit = false;
    std::uint64_t victim = 0;  // the evicted word; 0 for a hit, or where a way was empty
  };
  // Accesses a line: it is allocated on a miss, and becomes the most recently used of its set. Sets `flags`.
  Outcome access(std::uint64_t line, std::uint64_t flags) { return access(line, flags, set_of(line)); }
  // Accesses a line whose set is known.
  Outcome access(std::uint64_t line, std::uint64_t flags, std::uint64_t* set) {
    const std::uint64_t signature = signature_of(line);
    const std::uint32_t way = find(set, line, signature);
    if (way != geometry_.ways) {
      make_latest(set, way);
      ways_of(set)[way] |= flags;
      return {true, 0};
    }
    const std::uint32_t oldest = take_oldest(set, geometry_.ways);
    std::uint64_t& word = ways_of(set)[oldest];
    const std::uint64_t victim = word;
    word = word::of(line) | flags;
    set_signature(signatures_of(set), oldest, signature);
    ++fills_;
    evictions_ += victim & word::k_valid;
    return {false, victim};
  }
  // Takes a dirty line from the next inner cache. Sets the line dirty without changing the LRU order where it is
  // present, else accesses it.
  Outcome write_back(std::uint64_t line) { return write_back(line, set_of(line)); }
  // Takes a dirty line whose set is known.
  Outcome write_back(std::uint64_t line, std::uint64_t* set) {
    const std::uint32_t way = find(set, line, signature_of(line));
    if (way == geometry_.ways) return access(line, word::k_dirty, set);
    ways_of(set)[way] |= word::k_dirty;
    return {true, 0};
  }

  // Prefetches the set of a line into the host's caches, and returns it.
  [[nodiscard]] std::uint64_t* prefetch(std::uint64_t line) {
    std::uint64_t* const set = set_of(line);
    for (std::uint64_t word = 0; word < stride_; word += k_host_line_words) __builtin_prefetch(set + word);
    return set;
  }

  [[nodiscard]] const CacheGeometry& shape() const { return geometry_; }
  [[nodiscard]] std::uint64_t fills() const { return fills_; }
  [[nodiscard]] std::uint64_t evictions() const { return evictions_; }
  [[nodiscard]] std::uint64_t num_resident() const;  // scans the whole cache

 private:
  static constexpr std::uint64_t k_host_line_words = 8;
  // Layout of a set: LRU order of its ways, signatures, ways.
  [[nodiscard]] std::uint64_t* set_of(std::uint64_t line) {
    return words_.get() + geometry_.index(line) * stride_;
  }
  [[nodiscard]] std::uint64_t* signatures_of(std::uint64_t* set) const { return set + byte_words_; }
  [[nodiscard]] std::uint64_t* ways_of(std::uint64_t* set) const { return set + 2 * byte_words_; }
  [[nodiscard]] std::uint32_t find(std::uint64_t* set, std::uint64_t line, std::uint64_t signature) const {
    const std::uint64_t* ways = ways_of(set);
    return find_way(signatures_of(set), geometry_.ways, signature, geometry_.ways,
                    [=](std::uint32_t way) { return (ways[way] & ~word::k_dirty) == word::of(line); });
  }
  CacheGeometry geometry_;
  std::uint64_t byte_words_;  // words that hold one byte for each way
  std::uint64_t stride_;
  std::unique_ptr<std::uint64_t[]> words_;
  std::uint64_t fills_ = 0;
  std::uint64_t evictions_ = 0;
};

}  // namespace terrace::observe
