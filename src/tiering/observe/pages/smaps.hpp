// What /proc/self/smaps says was referenced, by mapping. Read line by line, without an allocation: the process's
// mappings do not change under the reader by what it does.
#pragma once

#include <cstdint>
#include <span>

#include "observe/page_watch.hpp"

namespace terrace::observe {

// A mapping, and the bytes of its pages that were used.
struct ReferencedMapping {
  std::uint64_t low = 0, high = 0;
  std::uint64_t bytes = 0;
};

// Takes the lines of smaps one after the other, as proc(5) has them: a mapping's head ("7f01000-7f02000 rw-p
// ..."), then its figures ("Referenced:   16 kB").
class SmapsLines {
 public:
  // True where the line completes what is known of a mapping, which then is `mapping`. Text of any kind is no
  // error.
  bool take(const char* line) noexcept;
  [[nodiscard]] const ReferencedMapping& mapping() const noexcept { return mapping_; }
  // Bytes in huge pages of all mappings so far.
  [[nodiscard]] std::uint64_t huge() const noexcept { return huge_; }

 private:
  [[nodiscard]] std::uint64_t bytes_in(const char* figure) const noexcept;

  ReferencedMapping mapping_;
  std::uint64_t huge_ = 0;
  bool headed_ = false;
};

// Adds a mapping's bytes to the ranges that overlap it, each by its share of the mapping: which of its pages were
// used the figure does not say. What a range had as k_unknown becomes known. Ranges ascend; `first` is where to
// begin to look, and goes on with mappings that ascend, too.
void add_referenced(const ReferencedMapping& mapping, std::span<const WatchedRange> ranges,
                    std::span<std::uint64_t> used, std::size_t& first) noexcept;

struct SmapsFound {
  bool any = false;        // false: the file cannot be read or has no such figures, and all ranges are unknown
  std::uint64_t huge = 0;  // bytes in huge pages of the mappings up to the last of the ranges
};
// Of each range the bytes that were used, k_unknown where nothing is mapped. Reads no further than the ranges go.
SmapsFound read_referenced(const char* path, std::span<const WatchedRange> ranges,
                           std::span<std::uint64_t> used) noexcept;

}  // namespace terrace::observe
