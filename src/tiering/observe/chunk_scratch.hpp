// SPDX-License-Identifier: Apache-2.0
// Holds values by chunk (unit of migration) in a sparse array: constant-time look-up, clearing in time linear in
// the number of entries. Tallies and collectors sum a quantum (a batch of one thread's accesses) or a phase in it.
// Memory: four bytes for each chunk of the run, plus the entries.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/chunk_table.hpp"

namespace terrace::observe {

template <class Value>
class ChunkScratch {
 public:
  struct Entry {
    ChunkId chunk;
    Value value;
  };

  // Returns the chunk's value, a new one if it has none.
  Value& at(ChunkId chunk) {
    if (chunk >= slots_.size()) slots_.resize(static_cast<std::size_t>(chunk) + chunk / 2 + 64, 0);
    auto& slot = slots_[chunk];
    if (slot == 0) {
      entries_.push_back({chunk, Value{}});
      slot = static_cast<std::uint32_t>(entries_.size());
    }
    return entries_[slot - 1].value;
  }
  [[nodiscard]] const Value* find(ChunkId chunk) const {
    return chunk < slots_.size() && slots_[chunk] != 0 ? &entries_[slots_[chunk] - 1].value : nullptr;
  }
  // Returns the entries in the order of insertion.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  void clear() {
    for (const auto& entry : entries_) slots_[entry.chunk] = 0;
    entries_.clear();
  }

 private:
  std::vector<std::uint32_t> slots_;  // by chunk: index of its entry + 1; 0: none
  std::vector<Entry> entries_;
};

}  // namespace terrace::observe
