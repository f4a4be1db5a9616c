// SPDX-License-Identifier: Apache-2.0
// Reads the referenced bytes of each mapping from /proc/self/smaps, for the page watch `clear-refs`. Does not
// allocate: the reader must not change the mappings that it reads.
#pragma once

#include <cstdint>
#include <span>

#include "observe/page_watch.hpp"

namespace terrace::observe {

// A mapping, and the bytes of its referenced pages.
struct ReferencedMapping {
  std::uint64_t low = 0, high = 0;
  std::uint64_t bytes = 0;
};

// Parses the lines of smaps in order, as in proc(5): a mapping's head ("7f01000-7f02000 rw-p ..."), then its
// figures ("Referenced:   16 kB").
class SmapsParser {
 public:
  // Returns true where the line completes a mapping, which `mapping` then returns. Accepts any text.
  bool parse_line(const char* line) noexcept;
  [[nodiscard]] const ReferencedMapping& mapping() const noexcept { return mapping_; }
  // Returns the bytes in huge pages of all mappings so far.
  [[nodiscard]] std::uint64_t huge() const noexcept { return huge_; }

 private:
  [[nodiscard]] std::uint64_t bytes_in(const char* figure) const noexcept;

  ReferencedMapping mapping_;
  std::uint64_t huge_ = 0;
  bool headed_ = false;
};

// Adds a mapping's referenced bytes to the ranges that overlap it, in proportion to the overlap, because the
// figure does not identify pages. Replaces k_unknown. Ranges and mappings are ascending; `first` is the index of
// the first range that may overlap, and is advanced.
void add_referenced(const ReferencedMapping& mapping, std::span<const WatchedRange> ranges,
                    std::span<std::uint64_t> used, std::size_t& first) noexcept;

struct SmapsSummary {
  bool any = false;        // false: the file cannot be read or has no such figures, so all ranges are k_unknown
  std::uint64_t huge = 0;  // bytes in huge pages of the mappings up to the last of the ranges
};
// Reads the referenced bytes of each range; k_unknown where nothing is mapped. Stops behind the last range.
SmapsSummary read_referenced(const char* path, std::span<const WatchedRange> ranges,
                             std::span<std::uint64_t> used) noexcept;

}  // namespace terrace::observe
