// The cache next to the core: set-associative, true LRU, like the others (cache.hpp), but its lines stay where
// they are and carry the time of their last use, so that a table from addresses of this process straight to lines
// stays valid until a line is evicted. Most accesses need nothing but that table: see Pipeline::access.
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

// Where a line of this process's memory is in the first cache. Loads are served while the line is there and no
// values loaded from it are followed, stores where it is dirty already, too; what needs more work finds no match.
// Accesses of a line whose values are followed find it by FastTable::follows instead.
struct alignas(16) FastLine {
  // No access has this key, in any epoch.
  static constexpr std::uint64_t k_none = std::uint64_t{1} << 63;
  // Subtracted from the key of a clean line, and from that of a line whose loaded values are followed.
  static constexpr std::uint64_t k_clean = 1;
  static constexpr std::uint64_t k_followed = std::uint64_t{1} << 62;
  // Twice the address of the line's first byte, plus the table's epoch, less the marks above.
  std::uint64_t key = k_none;
  std::uint64_t* used = nullptr;  // the time of its last use

  // The farthest that an access of some size may begin from the key: bytes for a store; for a load twice that, and
  // the mark of a clean line.
  struct Room {
    std::uint64_t store, load;
  };
  [[nodiscard]] static Room room(std::uint64_t line, std::uint64_t size) {
    return {line - size, 2 * (line - size) + 1};
  }
};

// Entries hold while the address map does not change. Each says so by the table's epoch, a number above all bits
// of doubled addresses: the key of another epoch matches no access. The map sets the epoch to 0 when it changes,
// also from another thread; that is no entry's.
class FastTable {
 public:
  // For a cache of that many lines of so many bytes: twice as many entries, so that few of them compete for one.
  FastTable(std::uint64_t lines, Bytes line)
      : in_table_((k_group * groups_for(lines, line) - 1) & ~(apart(line) - 1)),
        groups_(std::make_unique<Group[]>(groups_for(lines, line))),
        count_(groups_for(lines, line)) {}
  // Lines side by side have entries side by side, so that few of the host's lines hold the entries of an array.
  // Arrays are at multiples of large powers of two, so higher bits of the address take part, too.
  [[nodiscard]] FastLine& of(std::uint64_t address) {
    const std::uint64_t at = (address ^ address >> k_fold) >> k_shift & in_table_;
    return *reinterpret_cast<FastLine*>(reinterpret_cast<char*>(groups_.get()) + at);
  }
  // Whether an access at the address with that room is in the entry's line.
  [[nodiscard]] bool serves(const FastLine& fast, std::uint64_t address, const FastLine::Room& room,
                            bool store) const {
    return is_within(distance(fast, address), room, store);
  }
  // Returns whether the entry serves the access, for a line whose loaded values are followed.
  [[nodiscard]] bool follows(const FastLine& fast, std::uint64_t address, const FastLine::Room& room,
                             bool store) const {
    return is_within(distance(fast, address) - FastLine::k_followed, room, store);
  }
  // Returns how far from its line's first byte the address is that the entry serves.
  [[nodiscard]] std::uint64_t offset(const FastLine& fast, std::uint64_t address) const {
    return distance(fast, address) / 2;
  }
  // Sets the entry, with marks of FastLine, for an answer of the map's generation; not where that is past.
  void set(FastLine& fast, std::uint64_t from, std::uint64_t marks, std::uint64_t* used,
           std::uint32_t generation) {
    const auto epoch = epoch_.load(std::memory_order_relaxed);
    if (epoch == 0 || generation != generation_) return;
    fast = {2 * from + epoch - marks, used};
  }

  [[nodiscard]] bool is_stale() const { return epoch_.load(std::memory_order_relaxed) == 0; }
  // Begins an epoch, unless the map is being changed. The map sets its generation before the epoch, and this the
  // epoch before it reads the generation again: one of the two notices the other.
  void renew(const std::atomic<std::uint32_t>& generation) {
    generation_ = generation.load(std::memory_order_acquire);
    if (generation_ % 2 != 0) return;
    if (++epochs_ == k_epochs) {
      epochs_ = 1;
      std::fill_n(groups_.get(), count_, Group{});
    }
    epoch_.store(epochs_ << k_key_bits, std::memory_order_seq_cst);
    if (generation.load(std::memory_order_seq_cst) != generation_) epoch_.store(0, std::memory_order_relaxed);
  }
  [[nodiscard]] std::atomic<std::uint64_t>& epoch() { return epoch_; }

 private:
  static constexpr std::uint64_t k_group = 64;  // bytes: one of the host's lines
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
  // An odd distance, from a clean line, becomes larger than any room of a store.
  [[nodiscard]] static bool is_within(std::uint64_t distance, const FastLine::Room& room, bool store) {
    return store ? std::rotr(distance, 1) <= room.store : distance <= room.load;
  }
  struct alignas(k_group) Group {
    std::array<FastLine, k_group / sizeof(FastLine)> lines{};
  };
  // The entries of larger lines are farther apart.
  [[nodiscard]] static std::size_t groups_for(std::uint64_t lines, Bytes line) {
    const auto bits = std::clamp(static_cast<unsigned>(std::bit_width(lines)), k_min_bits, k_max_bits);
    return (apart(line) << bits) / k_group;
  }
  [[nodiscard]] static std::uint64_t apart(Bytes line) {
    return std::max(line.value >> k_shift, std::uint64_t{sizeof(FastLine)});
  }

  std::atomic<std::uint64_t> epoch_{0};  // 0: the map has changed
  std::uint64_t in_table_;               // mask of the place of an entry, in bytes
  std::unique_ptr<Group[]> groups_;
  std::size_t count_;             // of groups
  std::uint64_t epochs_ = 0;      // begun since the table was empty
  std::uint32_t generation_ = 1;  // of the map, in this epoch
};

class FirstCache {
 public:
  static constexpr std::uint32_t k_nowhere = ~std::uint32_t{0};

  FirstCache(Bytes size, std::uint32_t ways, Bytes line, FastTable& table);

  [[nodiscard]] std::uint64_t set_of(std::uint64_t line) const { return shape_.index(line); }
  // Returns the slot of a line, or k_nowhere. `set` is the line's.
  [[nodiscard]] std::uint32_t find(std::uint64_t line, std::uint64_t set) const {
    const std::uint64_t first = set * ways_;
    const std::uint64_t* const words = words_ + first;
    const std::uint32_t way = find_way(
        signatures_ + set * signature_words_, shape_.ways, signature_of(line), k_nowhere,
        [=](std::uint32_t at) { return (words[at] & ~(word::k_dirty | word::k_fresh)) == word::of(line); });
    return way == k_nowhere ? k_nowhere : static_cast<std::uint32_t>(first) + way;
  }
  // Fetches a set, in which a line will be inserted soon, into the host's caches.
  void prefetch(std::uint64_t set) const {
    const std::uint64_t first = set * ways_;
    for (const std::uint64_t* array : {used_, words_, from_})
      for (std::uint64_t way = 0; way < ways_; way += k_host_line_words) __builtin_prefetch(array + first + way);
    __builtin_prefetch(signatures_ + set * signature_words_);
  }
  // The slot for a line that is not here: an empty one, or the least recently used. `victim` is the word that was
  // there, which the table forgets. `from` is where the line begins in this process, `set` is the line's.
  std::uint32_t insert(std::uint64_t line, std::uint64_t set, std::uint64_t flags, std::uint64_t from,
                       std::uint64_t& victim);

  [[nodiscard]] std::uint64_t& word(std::uint32_t slot) { return words_[slot]; }
  [[nodiscard]] std::uint64_t* used() { return used_; }  // by slot: the time of the last use, 0 when empty
  // The table leads to the slot from now on, for accesses at `address`.
  void install(std::uint32_t slot, std::uint64_t address, std::uint64_t from, std::uint32_t generation) {
    const std::uint64_t word = this->word(slot);
    const auto marks = ((word & word::k_fresh) != 0 ? FastLine::k_followed : 0) +
                       ((word & word::k_dirty) == 0 ? FastLine::k_clean : 0);
    table_.set(table_.of(address), from, marks, used_ + slot, generation);
    from_[slot] = from;
  }

  [[nodiscard]] std::uint64_t fills() const { return fills_; }
  [[nodiscard]] std::uint64_t evictions() const { return evictions_; }
  [[nodiscard]] std::uint64_t resident() const;  // counts

 private:
  static constexpr std::uint64_t k_host_line_words = 8;

  // Drops the entry for accesses at `address`, whatever line it leads to: to look would be to wait for it.
  void forget(std::uint64_t address) { table_.of(address).key = FastLine::k_none; }

  Shape shape_;
  unsigned line_bits_;
  FastTable& table_;
  // Arrays of their own, because hits write times of use and read nothing else: of each slot the time of its last
  // use, its word, and where its line begins in this process; of each set the signatures. A set's slots are side
  // by side, an even number of them.
  std::uint64_t ways_;
  std::uint64_t signature_words_;
  std::unique_ptr<std::uint64_t[]> memory_;
  std::uint64_t* used_;
  std::uint64_t* words_;
  std::uint64_t* from_;
  std::uint64_t* signatures_;
  std::uint64_t fills_ = 0;
  std::uint64_t evictions_ = 0;
};

}  // namespace terrace::observe
