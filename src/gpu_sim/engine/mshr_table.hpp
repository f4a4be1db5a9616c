// SPDX-License-Identifier: Apache-2.0
// Implements miss status holding registers (MSHRs): the lines that a cache waits for, and the waiters of each.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace terrace::gpu_sim {

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
