// SPDX-License-Identifier: Apache-2.0
// Manages the free part of an address space as ranges: address-ordered first fit with alignment, and coalescing.
// Which range is allocated depends on the history of calls alone. So a program that allocates the same memory gets
// the same addresses, relative to the base, in every run. Used by RegionSpace and by the extents of arenas.
//
// Implemented as a treap ordered by start in which each node stores the longest range below it: allocation and
// release take logarithmic time (a search under an alignment that many long ranges miss may visit those).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace terrace::memory {

class FreeRanges {
 public:
  struct Range {
    std::uint64_t start = 0;
    std::uint64_t length = 0;
  };

  // Allocates `length` units at the lowest start for which `base` + start is a multiple of `alignment`, a power of
  // two.
  std::optional<std::uint64_t> allocate(std::uint64_t length, std::uint64_t alignment, std::uint64_t base = 0);
  // Allocates [start, start + length) if all of it is free.
  bool allocate_at(std::uint64_t start, std::uint64_t length);
  // Frees [start, start + length). Requires: no part of it is free.
  void release(std::uint64_t start, std::uint64_t length);

  [[nodiscard]] std::size_t num_ranges() const { return num_ranges_; }
  [[nodiscard]] std::uint64_t longest() const { return root_ == k_none ? 0 : nodes_[root_].longest; }

 private:
  using Index = std::uint32_t;
  static constexpr Index k_none = 0xffffffff;
  struct Node {
    Range range;
    std::uint64_t longest = 0;
    Index left = k_none;
    Index right = k_none;
  };

  [[nodiscard]] Index find_fit(Index node, std::uint64_t length, std::uint64_t alignment,
                               std::uint64_t base) const;
  [[nodiscard]] Index find_at_or_before(std::uint64_t start) const;
  [[nodiscard]] Index find_start(std::uint64_t start) const;
  void update(Index node);
  Index merge(Index left, Index right);
  void split(Index node, std::uint64_t start, Index& left, Index& right);
  void insert(Range range);
  void erase(std::uint64_t start);
  void carve(Range range, std::uint64_t start, std::uint64_t length);

  std::vector<Node> nodes_;
  Index root_ = k_none;
  Index unused_ = k_none;  // unused nodes, linked by `left`
  std::size_t num_ranges_ = 0;
};

}  // namespace terrace::memory
