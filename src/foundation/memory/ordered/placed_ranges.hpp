// Which ranges of a process's memory were placed, where, and for which intent. Not for several threads at once.
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
    PlaceId place = k_no_place;  // k_no_place: where the kernel put it
    std::uint64_t held = 0;      // bytes of it that the ledger has
    std::uint32_t intent = 0;
  };

  // Instead of what was known of these addresses, which remove() has to have been asked for. Neighbours of one
  // place and intent become one range. Throws std::bad_alloc.
  void add(const Range& range);
  // What was known of the addresses, and is not any more. Throws std::bad_alloc.
  std::vector<Range> remove(std::uint64_t address, std::uint64_t size);
  // The ranges that have a part there, whole. Throws std::bad_alloc.
  [[nodiscard]] std::vector<Range> within(std::uint64_t address, std::uint64_t size) const;
  // The range that holds the address; size 0 when none does.
  [[nodiscard]] Range find(std::uint64_t address) const noexcept;
  // The addresses around this one, between begin and end, of which nothing is known; size 0 where it is in a
  // range.
  struct Gap {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
  };
  [[nodiscard]] Gap gap(std::uint64_t address, std::uint64_t begin, std::uint64_t end) const noexcept;

 private:
  void cut(std::uint64_t address);

  std::map<std::uint64_t, Range> ranges_;  // by address
};

}  // namespace terrace::memory
