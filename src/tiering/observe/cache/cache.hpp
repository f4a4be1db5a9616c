// One set-associative cache: true LRU, write-back, write-allocate. Sets are chosen by the canonical line number
// modulo the number of sets, which need not be a power of two (a scaled cache of 636 KiB and 20 ways has 508; what
// does not fill a set is left off). Lines stay in their ways; a set keeps the order in which they were used.
#pragma once

#include <cstdint>
#include <memory>

#include "core/units.hpp"
#include "observe/cache/recency.hpp"
#include "observe/cache/signatures.hpp"

namespace terrace::observe {

// A line as it is in a cache: its number, and what is known of it. 0 is an empty way.
namespace word {
inline constexpr std::uint64_t k_valid = 1;
inline constexpr std::uint64_t k_dirty = 2;
inline constexpr std::uint64_t k_fresh = 4;  // in the first cache: values loaded from it are followed
inline constexpr unsigned k_shift = 3;
[[nodiscard]] constexpr std::uint64_t of(std::uint64_t line) { return line << k_shift | k_valid; }
[[nodiscard]] constexpr std::uint64_t line(std::uint64_t word) { return word >> k_shift; }
}  // namespace word

// Sets and ways of a cache, and which set a line belongs to.
struct Shape {
  // More ways than k_max_ways are made that many.
  Shape(Bytes size, std::uint32_t wanted_ways, Bytes line);
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
    std::uint64_t victim = 0;  // the word that was evicted for the line; 0 for a hit, or when a way was empty
  };
  // An access: afterwards the line is here and the most recently used of its set. `flags` are added to its own.
  Outcome access(std::uint64_t line, std::uint64_t flags) { return access(line, flags, set_of(line)); }
  // The same where the line's set is known.
  Outcome access(std::uint64_t line, std::uint64_t flags, std::uint64_t* set) {
    const std::uint64_t signature = signature_of(line);
    const std::uint32_t way = find(set, line, signature);
    if (way != shape_.ways) {
      make_latest(set, way);
      ways_of(set)[way] |= flags;
      return {true, 0};
    }
    const std::uint32_t oldest = take_oldest(set, shape_.ways);
    std::uint64_t& word = ways_of(set)[oldest];
    const std::uint64_t victim = word;
    word = word::of(line) | flags;
    set_signature(signatures_of(set), oldest, signature);
    ++fills_;
    evictions_ += victim & word::k_valid;
    return {false, victim};
  }
  // A dirty line comes from the cache before. Present: it becomes dirty where it is. Else as an access.
  Outcome write_back(std::uint64_t line) { return write_back(line, set_of(line)); }
  // The same where the line's set is known.
  Outcome write_back(std::uint64_t line, std::uint64_t* set) {
    const std::uint32_t way = find(set, line, signature_of(line));
    if (way == shape_.ways) return access(line, word::k_dirty, set);
    ways_of(set)[way] |= word::k_dirty;
    return {true, 0};
  }

  // The set of a line that will be looked for soon, which comes nearer to the host's core.
  [[nodiscard]] std::uint64_t* prefetch(std::uint64_t line) {
    std::uint64_t* const set = set_of(line);
    for (std::uint64_t word = 0; word < stride_; word += k_host_line_words) __builtin_prefetch(set + word);
    return set;
  }

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::uint64_t fills() const { return fills_; }
  [[nodiscard]] std::uint64_t evictions() const { return evictions_; }
  [[nodiscard]] std::uint64_t resident() const;  // counts

 private:
  static constexpr std::uint64_t k_host_line_words = 8;
  // A set: the order of its ways, signatures, ways.
  [[nodiscard]] std::uint64_t* set_of(std::uint64_t line) { return words_.get() + shape_.index(line) * stride_; }
  [[nodiscard]] std::uint64_t* signatures_of(std::uint64_t* set) const { return set + bytes_; }
  [[nodiscard]] std::uint64_t* ways_of(std::uint64_t* set) const { return set + 2 * bytes_; }
  [[nodiscard]] std::uint32_t find(std::uint64_t* set, std::uint64_t line, std::uint64_t signature) const {
    const std::uint64_t* ways = ways_of(set);
    return find_way(signatures_of(set), shape_.ways, signature, shape_.ways,
                    [=](std::uint32_t way) { return (ways[way] & ~word::k_dirty) == word::of(line); });
  }
  Shape shape_;
  std::uint64_t bytes_;  // words that hold a byte for each way
  std::uint64_t stride_;
  std::unique_ptr<std::uint64_t[]> words_;
  std::uint64_t fills_ = 0;
  std::uint64_t evictions_ = 0;
};

}  // namespace terrace::observe
