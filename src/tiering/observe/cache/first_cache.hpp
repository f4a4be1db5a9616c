// SPDX-License-Identifier: Apache-2.0
// Simulates the cache next to the core for a thread's pipeline: set-associative, true LRU, like the others
// (cache.hpp), but with the time of the last use for each line instead of an order of ways. A table maps addresses
// of this process directly to lines; its entries stay valid until the line is evicted. Most accesses need only
// that table: see Pipeline::access. Not thread-safe, except for FastTable::epoch.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>

#include "observe/cache/cache.hpp"

namespace terrace::observe {

// Entry of the table: maps a line of this process's memory to its slot in the first cache. It serves loads while
// the line is cached and not followed (dependence.hpp), and stores if the line is dirty already, too; accesses
// that need more work do not match. FastTable::follows matches accesses of a followed line.
struct alignas(16) FastLine {
  // Matches no access, in any epoch.
  static constexpr std::uint64_t k_none = std::uint64_t{1} << 63;
  // Subtracted from the key of a clean line, and from that of a line whose loaded values are followed.
  static constexpr std::uint64_t k_clean = 1;
  static constexpr std::uint64_t k_followed = std::uint64_t{1} << 62;
  // Twice the address of the line's first byte, plus the table's epoch, less the flags above.
  std::uint64_t key = k_none;
  std::uint64_t* used = nullptr;  // the time of its last use

  // Largest distance of an access of some size from the key: in bytes for a store; for a load twice that, plus the
  // flag of a clean line.
  struct Limits {
    std::uint64_t store, load;
  };
  [[nodiscard]] static Limits limits(std::uint64_t line, std::uint64_t size) {
    return {line - size, 2 * (line - size) + 1};
  }
};

// Direct-mapped table of FastLines. Entries are valid while the address map does not change: the key contains the
// table's epoch, a number above all bits of doubled addresses, so that a key of another epoch matches no access.
// The map sets the epoch to 0, which no entry has, when it changes, also from another thread.
class FastTable {
 public:
  // For a cache with that many lines: has twice as many entries, to have few conflicts.
  FastTable(std::uint64_t lines, Bytes line)
      : offset_mask_((k_group * groups_for(lines, line) - 1) & ~(spacing(line) - 1)),
        groups_(std::make_unique<Group[]>(groups_for(lines, line))),
        num_groups_(groups_for(lines, line)) {}
  // Returns the entry for an address. Adjacent lines have adjacent entries, so that the entries of an array are in
  // few cache lines of the host. Higher bits are folded in, because arrays often begin at multiples of large
  // powers of two.
  [[nodiscard]] FastLine& entry(std::uint64_t address) {
    const std::uint64_t at = (address ^ address >> k_fold) >> k_shift & offset_mask_;
    return *reinterpret_cast<FastLine*>(reinterpret_cast<char*>(groups_.get()) + at);
  }
  // Returns whether the entry serves an access at the address with these limits.
  [[nodiscard]] bool serves(const FastLine& fast, std::uint64_t address, const FastLine::Limits& limits,
                            bool store) const {
    return is_within(distance(fast, address), limits, store);
  }
  // Returns whether the entry serves the access, for a line whose loaded values are followed.
  [[nodiscard]] bool follows(const FastLine& fast, std::uint64_t address, const FastLine::Limits& limits,
                             bool store) const {
    return is_within(distance(fast, address) - FastLine::k_followed, limits, store);
  }
  // Returns the offset in its line of an address that the entry serves.
  [[nodiscard]] std::uint64_t offset(const FastLine& fast, std::uint64_t address) const {
    return distance(fast, address) / 2;
  }
  // Sets the entry, with FastLine's flags, from a translation of the map's `generation`, unless that is out of
  // date.
  void set(FastLine& fast, std::uint64_t from, std::uint64_t flags, std::uint64_t* used,
           std::uint32_t generation) {
    const auto epoch = epoch_.load(std::memory_order_relaxed);
    if (epoch == 0 || generation != generation_) return;
    fast = {2 * from + epoch - flags, used};
  }

  [[nodiscard]] bool is_stale() const { return epoch_.load(std::memory_order_relaxed) == 0; }
  // Begins an epoch, unless the map is changing. The map writes its generation before the epoch; this function
  // writes the epoch before it reads the generation again: so one of the two notices the other.
  void begin_epoch(const std::atomic<std::uint32_t>& generation) {
    generation_ = generation.load(std::memory_order_acquire);
    if (generation_ % 2 != 0) return;
    if (++epochs_ == k_epochs) {
      epochs_ = 1;
      std::fill_n(groups_.get(), num_groups_, Group{});
    }
    epoch_.store(epochs_ << k_key_bits, std::memory_order_seq_cst);
    if (generation.load(std::memory_order_seq_cst) != generation_) epoch_.store(0, std::memory_order_relaxed);
  }
  [[nodiscard]] std::atomic<std::uint64_t>& epoch() { return epoch_; }

 private:
  static constexpr std::uint64_t k_group = 64;  // bytes: a cache line of the host
  static constexpr unsigned k_shift = 2;        // from a line of 64 bytes to an entry
  static constexpr unsigned k_fold = 13;
  static constexpr unsigned k_min_bits = 8;
  static constexpr unsigned k_max_bits = 14;
  // Epochs are above doubled addresses, with a bit between, and below FastLine::k_followed.
  static constexpr unsigned k_key_bits = 50;
  static constexpr std::uint64_t k_epochs = FastLine::k_followed >> k_key_bits;
  [[nodiscard]] std::uint64_t distance(const FastLine& fast, std::uint64_t address) const {
    return 2 * address - fast.key + epoch_.load(std::memory_order_acquire);
  }
  // Rotation makes an odd distance, from a clean line, larger than any limit of a store.
  [[nodiscard]] static bool is_within(std::uint64_t distance, const FastLine::Limits& limits, bool store) {
    return store ? std::rotr(distance, 1) <= limits.store : distance <= limits.load;
  }
  struct alignas(k_group) Group {
    std::array<FastLine, k_group / sizeof(FastLine)> lines{};
  };
  // The entries of larger lines are farther apart.
  [[nodiscard]] static std::size_t groups_for(std::uint64_t lines, Bytes line) {
    const auto bits = std::clamp(static_cast<unsigned>(std::bit_width(lines)), k_min_bits, k_max_bits);
    return (spacing(line) << bits) / k_group;
  }
  [[nodiscard]] static std::uint64_t spacing(Bytes line) {
    return std::max(line.value >> k_shift, std::uint64_t{sizeof(FastLine)});
  }

  std::atomic<std::uint64_t> epoch_{0};  // 0: the map has changed since
  std::uint64_t offset_mask_;            // mask of an entry's byte offset
  std::unique_ptr<Group[]> groups_;
  std::size_t num_groups_;        // of the array
  std::uint64_t epochs_ = 0;      // since the table was last cleared
  std::uint32_t generation_ = 1;  // of the map, in this epoch
};

class FirstCache {
 public:
  static constexpr std::uint32_t k_nowhere = ~std::uint32_t{0};

  FirstCache(Bytes size, std::uint32_t ways, Bytes line, FastTable& table);

  [[nodiscard]] std::uint64_t set_of(std::uint64_t line) const { return geometry_.index(line); }
  // Returns the slot of a line, or k_nowhere. `set` is the line's.
  [[nodiscard]] std::uint32_t find(std::uint64_t line, std::uint64_t set) const {
    const std::uint64_t first = set * ways_;
    const std::uint64_t* const words = words_ + first;
    const std::uint32_t way = find_way(
        signatures_ + set * signature_words_, geometry_.ways, signature_of(line), k_nowhere,
        [=](std::uint32_t at) { return (words[at] & ~(word::k_dirty | word::k_followed)) == word::of(line); });
    return way == k_nowhere ? k_nowhere : static_cast<std::uint32_t>(first) + way;
  }
  // Prefetches a set into the host's caches, before a line is inserted in it.
  void prefetch(std::uint64_t set) const {
    const std::uint64_t first = set * ways_;
    for (const std::uint64_t* array : {used_, words_, line_begins_})
      for (std::uint64_t way = 0; way < ways_; way += k_host_line_words) __builtin_prefetch(array + first + way);
    __builtin_prefetch(signatures_ + set * signature_words_);
  }
  // Inserts a line that is not cached, in an empty slot or in place of the least recently used one; returns the
  // slot. `victim`: the replaced word, which is removed from the table. `from`: address of the line in this
  // process.
  std::uint32_t insert(std::uint64_t line, std::uint64_t set, std::uint64_t flags, std::uint64_t from,
                       std::uint64_t& victim);

  [[nodiscard]] std::uint64_t& word(std::uint32_t slot) { return words_[slot]; }
  [[nodiscard]] std::uint64_t* used() { return used_; }  // by slot: the time of the last use, 0 when empty
  // Enters the slot into the table, for accesses at `address`.
  void install(std::uint32_t slot, std::uint64_t address, std::uint64_t from, std::uint32_t generation) {
    const std::uint64_t word = this->word(slot);
    const auto flags = ((word & word::k_followed) != 0 ? FastLine::k_followed : 0) +
                       ((word & word::k_dirty) == 0 ? FastLine::k_clean : 0);
    table_.set(table_.entry(address), from, flags, used_ + slot, generation);
    line_begins_[slot] = from;
  }

  [[nodiscard]] std::uint64_t fills() const { return fills_; }
  [[nodiscard]] std::uint64_t evictions() const { return evictions_; }
  [[nodiscard]] std::uint64_t num_resident() const;  // scans the whole cache

 private:
  static constexpr std::uint64_t k_host_line_words = 8;

  // Invalidates the entry for `address`, whatever its line: a comparison would wait for the entry to be loaded.
  void invalidate(std::uint64_t address) { table_.entry(address).key = FastLine::k_none; }

  CacheGeometry geometry_;
  unsigned line_bits_;
  FastTable& table_;
  // Separate arrays, because hits access only the times of use: for each slot the time of its last use, its word,
  // and the line's address in this process; for each set its signatures. A set's slots are contiguous, an even
  // number.
  std::uint64_t ways_;
  std::uint64_t signature_words_;
  std::unique_ptr<std::uint64_t[]> memory_;
  std::uint64_t* used_;
  std::uint64_t* words_;
  std::uint64_t* line_begins_;
  std::uint64_t* signatures_;
  std::uint64_t fills_ = 0;
  std::uint64_t evictions_ = 0;
};

}  // namespace terrace::observe
