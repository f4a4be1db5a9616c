// SPDX-License-Identifier: Apache-2.0
// Records the ranges of a process's memory that the agent's heap placed: where, and for which intent (memory
// attribute). Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/identifiers.hpp"

namespace terrace::memory {

class PlacedRanges {
 public:
  struct Range {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    PlaceId place = k_no_place;  // k_no_place: left to the kernel
    std::uint64_t held = 0;      // bytes acquired in the ledger for it
    std::uint32_t intent = 0;
  };

  // Adds a range and merges it with neighbours of the same place and intent. Requires: remove() was called for its
  // addresses. Throws std::bad_alloc.
  void add(const Range& range);
  // Removes and returns the ranges, or parts of ranges, within the addresses. Throws std::bad_alloc.
  std::vector<Range> remove(std::uint64_t address, std::uint64_t size);
  // Returns the whole ranges that overlap the addresses. Throws std::bad_alloc.
  [[nodiscard]] std::vector<Range> find_overlapping(std::uint64_t address, std::uint64_t size) const;
  // Returns the range that contains the address; size 0 if none does.
  [[nodiscard]] Range find(std::uint64_t address) const noexcept;
  // Returns the largest interval around the address, within [begin, end), without a range; size 0 if the address
  // is in a range.
  struct Gap {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
  };
  [[nodiscard]] Gap find_gap(std::uint64_t address, std::uint64_t begin, std::uint64_t end) const noexcept;

 private:
  void split_at(std::uint64_t address);

  std::map<std::uint64_t, Range> ranges_;  // by address
};

}  // namespace terrace::memory
