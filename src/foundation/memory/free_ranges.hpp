// The free part of an address space, as ranges of whole granules: address-ordered first fit with alignment, and
// merging of neighbours when something comes back. Which range is handed out depends on the history of calls
// alone, so that a program that asks for the same memory gets the same addresses, relative to the base, in every
// run.
//
// A treap ordered by start in which each node knows the longest range below it: finding, taking and giving back
// take logarithmic time (finding under an alignment that many long ranges miss may visit those).
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

  // Takes `length` units at the lowest start for which `base` + start is a multiple of `alignment` (a power of
  // two).
  std::optional<std::uint64_t> take(std::uint64_t length, std::uint64_t alignment, std::uint64_t base = 0);
  // Takes [start, start + length) if all of it is free.
  bool take_at(std::uint64_t start, std::uint64_t length);
  // Gives [start, start + length) back; it must not be free already.
  void give(std::uint64_t start, std::uint64_t length);

  [[nodiscard]] std::size_t ranges() const { return used_; }
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

  [[nodiscard]] Index fit(Index node, std::uint64_t length, std::uint64_t alignment, std::uint64_t base) const;
  [[nodiscard]] Index covering(std::uint64_t start) const;  // the last range that begins at or before `start`
  [[nodiscard]] Index beginning(std::uint64_t start) const;
  void update(Index node);
  Index merge(Index left, Index right);
  void split(Index node, std::uint64_t start, Index& left, Index& right);
  void insert(Range range);
  void erase(std::uint64_t start);
  void cut(Range range, std::uint64_t start, std::uint64_t length);

  std::vector<Node> nodes_;
  Index root_ = k_none;
  Index spare_ = k_none;  // unused nodes, linked by `left`
  std::size_t used_ = 0;
};

}  // namespace terrace::memory
