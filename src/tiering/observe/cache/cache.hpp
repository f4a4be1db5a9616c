// SPDX-License-Identifier: Apache-2.0
// Simulates a set-associative cache: true LRU, write-back, write-allocate. The set is the canonical line number
// modulo the number of sets, which need not be a power of two (a scaled cache of 636 KiB and 20 ways has 508;
// lines that do not fill a set are dropped). Lines stay in their ways; each set keeps the LRU order of its ways.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "core/units.hpp"
#include "observe/cache/recency.hpp"
#include "observe/cache/signatures.hpp"

namespace terrace::observe {

// Packs a cached line into a word: its number and flags. 0 is an empty way.
namespace word {
inline constexpr std::uint64_t k_valid = 1;
inline constexpr std::uint64_t k_dirty = 2;
inline constexpr std::uint64_t k_followed = 4;  // first cache only: values loaded from it are tracked
inline constexpr unsigned k_shift = 3;
[[nodiscard]] constexpr std::uint64_t of(std::uint64_t line) { return line << k_shift | k_valid; }
[[nodiscard]] constexpr std::uint64_t line(std::uint64_t word) { return word >> k_shift; }
}  // namespace word

// Number of sets and ways of a cache, and the mapping of lines to sets.
struct CacheGeometry {
  // Limits the number of ways to the number of lines and to k_max_ways.
  CacheGeometry(Bytes size, std::uint32_t wanted_ways, Bytes line);
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
