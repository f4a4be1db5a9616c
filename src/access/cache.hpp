// One set-associative cache: true LRU, write-back, write-allocate. Sets are chosen by the canonical line number
// modulo the number of sets, which need not be a power of two (a scaled cache of 636 KiB and 20 ways has 508; what
// does not fill a set is left off). A set holds its lines most recently used first, so that looking for a line,
// moving it to the front and finding the victim are one pass.
#pragma once

#include <cstdint>
#include <memory>

#include "base/units.hpp"

namespace terrace::access {

// A line as it lies in a cache: its number, and what is known of it. 0 is an empty way.
namespace word {
inline constexpr std::uint64_t k_valid = 1;
inline constexpr std::uint64_t k_dirty = 2;
inline constexpr std::uint64_t k_fresh = 4;  // a demand miss brought it lately: values loaded from it are followed
inline constexpr std::uint64_t k_flags = 7;
inline constexpr unsigned k_shift = 3;
[[nodiscard]] constexpr std::uint64_t of(std::uint64_t line) { return line << k_shift | k_valid; }
[[nodiscard]] constexpr std::uint64_t line(std::uint64_t word) { return word >> k_shift; }
}  // namespace word

class Cache {
 public:
  Cache(Bytes size, std::uint32_t ways, Bytes line);

  struct Outcome {
    bool hit = false;
    std::uint64_t victim = 0;  // the word that was evicted for the line; 0 for a hit, or when a way was empty
  };
  // An access: afterwards the line is here and the most recently used of its set. `flags` are added to its own.
  Outcome access(std::uint64_t line, std::uint64_t flags) {
    std::uint64_t* way = set(line);
    const std::uint64_t wanted = word::of(line);
    std::uint64_t carried = way[0];
    if ((carried & ~(word::k_dirty | word::k_fresh)) == wanted) {
      way[0] = carried | flags;
      return {true, 0};
    }
    std::uint64_t* const end = way + ways_;
    for (std::uint64_t* at = way + 1; at != end; ++at) {
      const std::uint64_t here = *at;
      *at = carried;
      if ((here & ~(word::k_dirty | word::k_fresh)) == wanted) {
        way[0] = here | flags;
        return {true, 0};
      }
      carried = here;
    }
    way[0] = wanted | flags;
    ++fills_;
    evictions_ += carried & word::k_valid;
    return {false, carried};
  }
  // A dirty line comes from the cache before. Present: it becomes dirty where it is. Else as an access.
  Outcome write_back(std::uint64_t line) {
    std::uint64_t* way = set(line);
    for (std::uint32_t i = 0; i < ways_; ++i) {
      if ((way[i] & ~word::k_flags) == line << word::k_shift && way[i] != 0) {
        way[i] |= word::k_dirty;
        return {true, 0};
      }
    }
    return access(line, word::k_dirty);
  }

  // For those who look at the most recently used way themselves: `front()[index(line) * ways()]`.
  [[nodiscard]] std::uint64_t* front() { return words_.get(); }
  [[nodiscard]] std::uint64_t* set(std::uint64_t line) { return words_.get() + index(line) * ways_; }
  [[nodiscard]] std::uint64_t index(std::uint64_t line) const {
    // line mod sets by multiplication with (2^64 - 1) / sets; the quotient is exact or one too small.
    __extension__ using Wide = unsigned __int128;
    const auto quotient = static_cast<std::uint64_t>((static_cast<Wide>(line) * reciprocal_) >> 64);
    const std::uint64_t rest = line - quotient * sets_;
    return rest >= sets_ ? rest - sets_ : rest;
  }
  [[nodiscard]] std::uint64_t sets() const { return sets_; }
  [[nodiscard]] std::uint32_t ways() const { return ways_; }
  [[nodiscard]] std::uint64_t fills() const { return fills_; }
  [[nodiscard]] std::uint64_t evictions() const { return evictions_; }
  [[nodiscard]] std::uint64_t resident() const;  // counts

 private:
  std::uint64_t sets_;
  std::uint32_t ways_;
  std::uint64_t reciprocal_;
  std::unique_ptr<std::uint64_t[]> words_;
  std::uint64_t fills_ = 0;
  std::uint64_t evictions_ = 0;
};

}  // namespace terrace::access
