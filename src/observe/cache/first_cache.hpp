// The cache next to the core: set-associative, true LRU, like the others (cache.hpp), but its lines stay where
// they are and carry the time of their last use, so that a table from addresses of this process straight to lines
// stays valid until a line is evicted. Most accesses need nothing but that table: see Pipeline::access.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>

#include "observe/cache/cache.hpp"

namespace terrace::observe {

// Where a line of this process's memory is in the first cache. A load needs the line to be there and no longer
// fresh, a store needs it to be dirty already; what needs more work finds no match.
struct alignas(16) FastLine {
  // No program has addresses up there.
  static constexpr std::uint64_t k_no_store = std::uint64_t{1} << 63;
  static constexpr std::uint64_t k_no_load = std::uint64_t{1} << 62;
  static constexpr std::uint64_t k_none = std::uint64_t{0} - (k_no_store | k_no_load);
  std::uint64_t from = k_none;   // address of the line's first byte, less the bits above
  std::uint32_t generation = 1;  // of the address map; odd ones never match
  std::uint32_t slot = 0;

  // How far into the line an access of some size may begin: for a store; twice that for a load.
  struct Room {
    std::uint64_t store, load;
  };
  [[nodiscard]] static Room room(std::uint64_t line, std::uint64_t size) {
    return {line - size, 2 * (line - size)};
  }
  // Of an address that is in the line.
  [[nodiscard]] std::uint64_t offset(std::uint64_t address) const { return (address - from) & (k_no_load - 1); }
  // Whether an access at the address with that room is in the line.
  [[nodiscard]] bool serves(std::uint64_t address, const Room& room, bool store) const {
    const std::uint64_t offset = address - from;
    return store ? (offset & ~k_no_load) <= room.store : offset << 1 <= room.load;
  }
};

class FastTable {
 public:
  // For a cache of that many lines of so many bytes: twice as many entries, so that few of them compete for one.
  FastTable(std::uint64_t lines, Bytes line)
      : in_line_(~(line.value - 1)),
        in_table_((entries_for(lines) - 1) * sizeof(FastLine)),
        lines_(std::make_unique<FastLine[]>(entries_for(lines))) {}
  // By multiplication (Knuth's golden ratio): arrays are at multiples of large powers of two. Masks, because
  // shifts by a number that is not a constant are slow.
  [[nodiscard]] FastLine& of(std::uint64_t address) {
    constexpr unsigned k_shift = 64 - k_most_bits - std::countr_zero(sizeof(FastLine));
    const std::uint64_t at = ((address & in_line_) * 0x9E3779B97F4A7C15u) >> k_shift & in_table_;
    return *reinterpret_cast<FastLine*>(reinterpret_cast<char*>(lines_.get()) + at);
  }

 private:
  static constexpr unsigned k_least_bits = 8;
  static constexpr unsigned k_most_bits = 14;
  [[nodiscard]] static std::size_t entries_for(std::uint64_t lines) {
    return std::size_t{1} << std::clamp(static_cast<unsigned>(std::bit_width(lines)), k_least_bits, k_most_bits);
  }
  std::uint64_t in_line_;   // mask of an address: its line
  std::uint64_t in_table_;  // mask of the place of an entry, in bytes
  std::unique_ptr<FastLine[]> lines_;
};

class FirstCache {
 public:
  static constexpr std::uint32_t k_nowhere = ~std::uint32_t{0};

  FirstCache(Bytes size, std::uint32_t ways, Bytes line, FastTable& table);

  // The slot of a line, or k_nowhere.
  [[nodiscard]] std::uint32_t find(std::uint64_t line) const {
    const std::uint64_t first = shape_.index(line) * stride_;
    const std::uint64_t* const ways = sets_ + first + words_at_;
    const std::uint32_t way = find_way(
        sets_ + first + signatures_at_, shape_.ways, signature_of(line), k_nowhere,
        [=](std::uint32_t at) { return (ways[at] & ~(word::k_dirty | word::k_fresh)) == word::of(line); });
    return way == k_nowhere ? k_nowhere : static_cast<std::uint32_t>(first) + way;
  }
  // The slot for a line that is not here: an empty one, or the least recently used. `victim` is the word that was
  // there, which the table forgets. `from` is where the line begins in this process.
  std::uint32_t insert(std::uint64_t line, std::uint64_t flags, std::uint64_t from, std::uint64_t& victim);

  [[nodiscard]] std::uint64_t& word(std::uint32_t slot) { return sets_[slot + words_at_]; }
  [[nodiscard]] std::uint64_t* used() { return sets_; }  // by slot: the time of the last use, 0 when empty
  // The table leads to the slot from now on, for accesses at `address`.
  void install(std::uint32_t slot, std::uint64_t address, std::uint64_t from, std::uint32_t generation) {
    FastLine& fast = table_.of(address);
    const std::uint64_t word = this->word(slot);
    fast.from = from - ((word & word::k_fresh) != 0 ? FastLine::k_no_load : 0) -
                ((word & word::k_dirty) == 0 ? FastLine::k_no_store : 0);
    fast.generation = generation;
    fast.slot = slot;
    sets_[slot + from_at_] = from;
  }

  [[nodiscard]] std::uint64_t fills() const { return fills_; }
  [[nodiscard]] std::uint64_t evictions() const { return evictions_; }
  [[nodiscard]] std::uint64_t resident() const;  // counts

 private:
  void forget(std::uint32_t slot, std::uint64_t address);

  static constexpr unsigned k_way_bits = 12;  // of a key; times of use have the other 52

  Shape shape_;
  unsigned line_bits_;
  FastTable& table_;
  // A set: of each way the time of its last use, the word, where the line begins in this process; the signatures.
  // A slot is the place of the first of these.
  std::uint64_t words_at_;
  std::uint64_t from_at_;
  std::uint64_t signatures_at_;
  std::uint64_t stride_;
  std::unique_ptr<std::uint64_t[]> memory_;
  std::uint64_t* sets_;  // in it, where one of the host's lines begins
  std::uint64_t fills_ = 0;
  std::uint64_t evictions_ = 0;
};

}  // namespace terrace::observe
