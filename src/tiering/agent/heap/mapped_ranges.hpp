// What of spilled memory the program has: its blocks and its mappings, to the page, with the rights that it has
// asked for. Whoever uses it holds a lock. Throws std::bad_alloc.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace terrace::agent {

class MappedRanges {
 public:
  enum class Kind : std::uint8_t {
    block,             // of malloc
    mapping,           // of mmap
    unmanaged,         // the same, in a chunk that was left to the program
    foreign,           // something else that the program has mapped over a part of a mapping
    foreign_in_block,  // or of a block
  };
  struct Range {
    std::uint64_t start = 0, end = 0;
    Kind kind{};
    int protection = 0;
    [[nodiscard]] bool is_managed() const noexcept { return kind == Kind::block || kind == Kind::mapping; }
  };

  // Whatever was there before.
  void set(const Range& range);
  void remove(std::uint64_t start, std::uint64_t end);
  void protect(std::uint64_t start, std::uint64_t end, int protection);
  [[nodiscard]] bool overlaps(std::uint64_t start, std::uint64_t end) const noexcept;
  [[nodiscard]] std::optional<Kind> kind_at(std::uint64_t address) const noexcept;
  // The parts of ranges that lie within, in order.
  [[nodiscard]] std::vector<Range> within(std::uint64_t start, std::uint64_t end) const;
  // Whether such parts have no gap.
  [[nodiscard]] static bool is_covered(const std::vector<Range>& parts, std::uint64_t start,
                                       std::uint64_t end) noexcept;

 private:
  using Map = std::map<std::uint64_t, Range>;
  [[nodiscard]] Map::const_iterator first_ending_after(std::uint64_t start) const noexcept;
  void split(std::uint64_t at);
  void join(std::uint64_t start, std::uint64_t end) noexcept;

  Map ranges_;  // by start; they do not overlap
};

}  // namespace terrace::agent
