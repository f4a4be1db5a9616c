// A set-associative cache of lines of four sectors, each valid or not and dirty or not; what was used longest ago
// makes room. It knows tags only: who is on the way is in its Mshrs.
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
    std::uint32_t dirty = 0;  // sectors that have to be written; 0: none
  };

  SectorCache(std::uint64_t bytes, std::uint32_t ways, std::uint32_t line_bytes)
      : sets_(std::max<std::uint64_t>(1, bytes / line_bytes / ways)), ways_(ways), lines_(sets_ * ways) {}

  // Which of the sectors are there. Counts as a use.
  std::uint32_t look_up(std::uint64_t line, std::uint32_t sectors) {
    auto* way = find(line);
    if (way == nullptr) return 0;
    way->used = ++uses_;
    return way->valid & sectors;
  }
  struct Filled {
    Victim victim;
    std::uint32_t dirtied = 0;  // sectors that were clean before, or not there
  };
  // They are there from now on; `dirty` ones differ from what memory has.
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
  // The line is gone. Which of its sectors have to be written.
  std::uint32_t drop(std::uint64_t line) {
    auto* way = find(line);
    if (way == nullptr) return 0;
    const auto dirty = way->dirty;
    *way = {};
    return dirty;
  }
  // Calls with each line that has dirty sectors, which are clean then.
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
  // Lines that are a power of two apart should not meet in one set: the upper bits take part.
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
