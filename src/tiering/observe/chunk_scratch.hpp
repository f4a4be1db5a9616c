// A value for each chunk that was met, found in constant time and cleared in time linear in what was met: what
// counters of a quantum or of a phase are kept in. Memory is four bytes for each chunk of the run, and the values
// of those that were met.
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
  // In the order in which the chunks were first met.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  void clear() {
    for (const auto& entry : entries_) slots_[entry.chunk] = 0;
    entries_.clear();
  }

 private:
  std::vector<std::uint32_t> slots_;  // by chunk: its entry's position + 1, 0 while it was not met
  std::vector<Entry> entries_;
};

}  // namespace terrace::observe
