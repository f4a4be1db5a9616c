// SPDX-License-Identifier: Apache-2.0
// Tracks which parts of spilled (out-of-core) memory the program has allocated or mapped, to the page, with the
// requested protection. Used by SpilledHeap. Not thread-safe: the owner holds a lock. Modifying functions throw
// std::bad_alloc.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace terrace::agent {

class MappedRanges {
 public:
  enum class Kind : std::uint8_t {
    block,             // allocated by malloc
    mapping,           // mapped by mmap
    unmanaged,         // mapped by mmap, in a chunk that Terrace no longer manages
    foreign,           // a file or shared memory that the program has mapped over a part of a mapping
    foreign_in_block,  // the same, over a part of a block
  };
  struct Range {
    std::uint64_t start = 0, end = 0;
    Kind kind{};
    int protection = 0;
    [[nodiscard]] bool is_managed() const noexcept { return kind == Kind::block || kind == Kind::mapping; }
  };

  // Inserts the range and replaces any previous contents of it.
  void set(const Range& range);
  void remove(std::uint64_t start, std::uint64_t end);
  void protect(std::uint64_t start, std::uint64_t end, int protection);
  [[nodiscard]] bool overlaps(std::uint64_t start, std::uint64_t end) const noexcept;
  [[nodiscard]] std::optional<Kind> kind_at(std::uint64_t address) const noexcept;
  // Returns the ranges clipped to [start, end), in ascending order.
  [[nodiscard]] std::vector<Range> within(std::uint64_t start, std::uint64_t end) const;
  // Returns whether the parts cover [start, end) without a gap.
  [[nodiscard]] static bool is_covered(const std::vector<Range>& parts, std::uint64_t start,
                                       std::uint64_t end) noexcept;

 private:
  using Map = std::map<std::uint64_t, Range>;
  [[nodiscard]] Map::const_iterator first_ending_after(std::uint64_t start) const noexcept;
  void split(std::uint64_t at);
  void join(std::uint64_t start, std::uint64_t end) noexcept;

  Map ranges_;  // by start. Invariant: disjoint
};

}  // namespace terrace::agent
