// SPDX-License-Identifier: Apache-2.0
// Implements the tags of a set-associative cache with LRU replacement: lines of four sectors, each valid or not
// and dirty or not. Outstanding misses are in an MshrTable.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
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

}  // namespace terrace::gpu_sim
