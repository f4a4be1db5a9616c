// SPDX-License-Identifier: Apache-2.0
// Implements the tags of a set-associative cache with LRU replacement: lines of four sectors, each valid or not
// and dirty or not; and the registers of its outstanding misses. Used for the L1 caches and L2 slices of the
// simulated GPU.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace terrace::gpu_sim {

class SectorCache {
 public:
  struct Victim {
    std::uint64_t line = 0;
    std::uint32_t dirty = 0;  // sectors to write back; 0: none
  };

  SectorCache(std::uint64_t bytes, std::uint32_t ways, std::uint32_t line_bytes)
      : sets_(std::max<std::uint64_t>(1, bytes / line_bytes / ways)), ways_(ways), lines_(sets_ * ways) {}

  // Returns which of the sectors are valid. Counts as a use.
  std::uint32_t look_up(std::uint64_t line, std::uint32_t sectors) {
    auto* way = find(line);
    if (way == nullptr) return 0;
    way->used = ++uses_;
    return way->valid & sectors;
  }
  struct Filled {
    Victim victim;
    std::uint32_t dirtied = 0;  // sectors that were clean or invalid before
  };
  // Makes sectors valid; those in `dirty` differ from memory.
  Filled fill(std::uint64_t line, std::uint32_t sectors, std::uint32_t dirty) {
    Victim victim;
    auto* way = find(line);
    if (way == nullptr) {
      way = &oldest(line);
      victim = {way->line, way->dirty};
      *way = {line, 0, 0, 0};
    }
    way->used = ++uses_;
    way->valid |= static_cast<std::uint8_t>(sectors);
    const auto dirtied = dirty & ~std::uint32_t{way->dirty};
    way->dirty |= static_cast<std::uint8_t>(dirty);
    return {victim, dirtied};
  }
  // Invalidates the line. Returns its dirty sectors, which have to be written back.
  std::uint32_t drop(std::uint64_t line) {
    auto* way = find(line);
    if (way == nullptr) return 0;
    const auto dirty = way->dirty;
    *way = {};
    return dirty;
  }
  // Calls function(line, sectors) for each line with dirty sectors, and makes them clean.
  template <class Function>
  void clean(Function function) {
    for (auto& way : lines_) {
      if (way.dirty == 0) continue;
      function(way.line, std::uint32_t{way.dirty});
      way.dirty = 0;
    }
  }

 private:
  struct Way {
    std::uint64_t line = ~std::uint64_t{0};
    std::uint64_t used = 0;
    std::uint8_t valid = 0;
    std::uint8_t dirty = 0;
  };
  // Hashes the upper bits into the set, so that lines a power of two apart do not conflict.
  [[nodiscard]] Way* set_of(std::uint64_t line) {
    return &lines_[(line ^ ((line / sets_) * 0x9e3779b97f4a7c15ULL >> 40)) % sets_ * ways_];
  }
  [[nodiscard]] Way* find(std::uint64_t line) {
    auto* set = set_of(line);
    for (std::uint32_t i = 0; i < ways_; ++i)
      if (set[i].line == line) return &set[i];
    return nullptr;
  }
  [[nodiscard]] Way& oldest(std::uint64_t line) {
    auto* set = set_of(line);
    auto* oldest = set;
    for (std::uint32_t i = 1; i < ways_; ++i)
      if (set[i].used < oldest->used) oldest = &set[i];
    return *oldest;
  }

  std::uint64_t sets_;
  std::uint32_t ways_;
  std::vector<Way> lines_;
  std::uint64_t uses_ = 0;
};

// Miss status holding registers (MSHRs): the lines that a cache waits for, and the waiters of each.
template <class Waiter>
class MshrTable {
 public:
  struct Entry {
    std::uint64_t line = 0;
    std::uint32_t sectors = 0;  // requested
    std::vector<Waiter> waiters;
  };
  enum class Result : std::uint8_t { merged, added, full };

  MshrTable(std::uint32_t entries, std::uint32_t merges)
      : lines_(entries, k_none), entries_(entries), merges_(merges) {
    for (std::uint32_t i = entries; i != 0; --i) free_.push_back(i - 1);
  }

  // Waits for the sectors of the line: merges with an entry that has requested them, or adds an entry, or returns
  // full. `number` is set to the entry's.
  Result wait(std::uint64_t line, std::uint32_t sectors, Waiter waiter, std::uint32_t& number) {
    auto left = of_slot_[slot(line)];
    for (std::uint32_t i = 0; left != 0; ++i) {
      if (lines_[i] == k_none || slot(lines_[i]) != slot(line)) continue;
      --left;
      if (lines_[i] != line || (entries_[i].sectors & sectors) != sectors) continue;
      if (entries_[i].waiters.size() >= merges_) return Result::full;
      entries_[i].waiters.push_back(std::move(waiter));
      number = i;
      return Result::merged;
    }
    if (free_.empty()) return Result::full;
    number = free_.back();
    free_.pop_back();
    lines_[number] = line;
    ++of_slot_[slot(line)];
    auto& entry = entries_[number];
    entry.line = line;
    entry.sectors = sectors;
    entry.waiters.clear();
    entry.waiters.push_back(std::move(waiter));
    return Result::added;
  }
  [[nodiscard]] Entry& operator[](std::uint32_t number) { return entries_[number]; }
  void release(std::uint32_t number) {
    --of_slot_[slot(lines_[number])];
    lines_[number] = k_none;
    free_.push_back(number);
  }

 private:
  static constexpr std::uint64_t k_none = ~std::uint64_t{0};
  static std::size_t slot(std::uint64_t line) { return (line ^ (line >> 10)) % 1024; }
  std::vector<std::uint64_t> lines_;           // by entry; contiguous, because they are searched
  std::array<std::uint32_t, 1024> of_slot_{};  // number of entries by hash of the line; most searches end here
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  std::uint32_t merges_;
};

}  // namespace terrace::gpu_sim
