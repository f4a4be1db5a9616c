// The cache next to the core: set-associative, true LRU, like the others (cache.hpp), but its lines stay where
// they are and carry the time of their last use, so that a table from addresses of this process straight to lines
// stays valid until a line is evicted. Most accesses need nothing but that table: see Pipeline::access.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "access/cache.hpp"

namespace terrace::access {

// Where a line of this process's memory lies in the first cache. Two tags: a load needs the line to be there and
// no longer fresh, a store needs it to be dirty already; what needs more work finds no match.
struct alignas(32) FastLine {
  static constexpr std::uint64_t k_none = ~std::uint64_t{0};
  std::uint64_t load_from = k_none;  // address of the line's first byte
  std::uint64_t store_from = k_none;
  std::uint32_t generation = 1;  // of the address map; odd ones never match
  std::uint32_t slot = 0;
};

class FastTable {
 public:
  static constexpr unsigned k_bits = 10;
  FastTable() : lines_(std::make_unique<FastLine[]>(std::size_t{1} << k_bits)) {}
  // By multiplication (Knuth's golden ratio): arrays lie at multiples of large powers of two.
  [[nodiscard]] FastLine& of(std::uint64_t address, unsigned line_bits) {
    return lines_[((address >> line_bits) * 0x9E3779B97F4A7C15u) >> (64 - k_bits)];
  }

 private:
  std::unique_ptr<FastLine[]> lines_;
};

class FirstCache {
 public:
  static constexpr std::uint32_t k_nowhere = ~std::uint32_t{0};

  FirstCache(Bytes size, std::uint32_t ways, Bytes line, FastTable& table);

  // The slot of a line, or k_nowhere.
  [[nodiscard]] std::uint32_t find(std::uint64_t line) const {
    const std::uint64_t set = shape_.index(line);
    const std::uint64_t* ways = words_.get() + set * shape_.ways;
    const std::uint32_t way = find_way(
        signatures_.get() + set * signature_words_, shape_.ways, signature_of(line), k_nowhere,
        [=](std::uint32_t at) { return (ways[at] & ~(word::k_dirty | word::k_fresh)) == word::of(line); });
    return way == k_nowhere ? k_nowhere : static_cast<std::uint32_t>(set * shape_.ways) + way;
  }
  // The slot for a line that is not here: an empty one, or the least recently used. `victim` is the word that lay
  // there, which the table forgets. `from` is where the line begins in this process.
  std::uint32_t insert(std::uint64_t line, std::uint64_t flags, std::uint64_t from, std::uint64_t& victim);

  [[nodiscard]] std::uint64_t& word(std::uint32_t slot) { return words_[slot]; }
  [[nodiscard]] std::uint64_t* used() { return used_.get(); }  // by slot: the time of the last use, 0 when empty
  // The table leads to the slot from now on, for accesses at `address`.
  void install(std::uint32_t slot, std::uint64_t address, std::uint64_t from, std::uint32_t generation) {
    FastLine& fast = table_.of(address, line_bits_);
    const std::uint64_t word = words_[slot];
    fast.load_from = (word & word::k_fresh) != 0 ? FastLine::k_none : from;
    fast.store_from = (word & word::k_dirty) != 0 ? from : FastLine::k_none;
    fast.generation = generation;
    fast.slot = slot;
    from_[slot] = from;
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
  std::uint64_t signature_words_;  // a set
  std::unique_ptr<std::uint64_t[]> signatures_;
  std::unique_ptr<std::uint64_t[]> words_;
  std::unique_ptr<std::uint64_t[]> used_;
  std::unique_ptr<std::uint64_t[]> from_;  // where the line begins in this process
  std::uint64_t fills_ = 0;
  std::uint64_t evictions_ = 0;
};

}  // namespace terrace::access
