// SPDX-License-Identifier: Apache-2.0
// Datasets in memory: what each is, and where.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "terrace/stencil/context.hpp"
#include "transfer/spill/spill_file.hpp"

namespace terrace::stencil {

inline constexpr std::size_t k_huge_page = std::size_t{2} << 20U;  // bytes, beside pages of 4 KiB

struct BlockInfo {
  std::string name;
  std::size_t dims = 0;
  Range range;
};

struct DatasetInfo {
  std::string name;
  DatasetId id = 0;
  BlockId block = 0;
  std::size_t element = 0;  // bytes
  Range range;              // points that it has
  std::ptrdiff_t row = 0;   // elements from a row to the next
  std::ptrdiff_t plane = 0;
  bool is_temporary = false;                    // no chain needs its numbers from before, except at `kept`
  std::vector<Range> kept{};                    // of a temporary: the points whose numbers are kept
  std::optional<Number> number = std::nullopt;  // the kind of its elements, where it is one that files can have

  // Bytes from the first element to behind the last row.
  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(plane) * static_cast<std::size_t>(range.length(2)) * element;
  }
  // Whether a chain may need any of its numbers from before.
  [[nodiscard]] bool outlives_chains() const { return !is_temporary || !kept.empty(); }
  // Whether a chain may need some of these points' numbers from before.
  [[nodiscard]] bool keeps(const Range& points) const {
    return !is_temporary ||
           std::ranges::any_of(kept, [&](const Range& one) { return !intersection(one, points).empty(); });
  }
  // In which one piece comes after the other in memory: rows, or planes.
  [[nodiscard]] std::size_t slow_dimension() const {
    return range.length(2) > 1 ? 2 : range.length(1) > 1 ? 1 : 0;
  }
  // Of a point, from the first element.
  [[nodiscard]] std::ptrdiff_t offset(const Point& point) const {
    return ((point[0] - range.begin[0]) + (point[1] - range.begin[1]) * row +
            (point[2] - range.begin[2]) * plane) *
           static_cast<std::ptrdiff_t>(element);
  }
  // Of a place in memory that begins with the first element.
  [[nodiscard]] View view(std::byte* first) const { return {first + offset({0, 0, 0}), row, plane}; }
};

// Rows begin at lines of the cache; which, differs from dataset to dataset, so that they do not share the sets of
// a cache. Numbers are 0 at first.
class Memory {
 public:
  // In bytes; in a file of the folder, if there is one. Throws Error{no_memory}, which names the dataset, or
  // Error{failed}, which names the folder.
  Memory(const std::string& name, std::size_t bytes, std::size_t number, const std::string& folder = {});
  ~Memory() { release(); }
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&&) = delete;

  [[nodiscard]] std::byte* first() const { return first_; }
  // Gives the memory back.
  void release();

 private:
  void* mapping_ = nullptr;
  std::size_t size_ = 0;
  std::byte* first_ = nullptr;
  std::unique_ptr<transfer::SpillFile> file_;
};

// A file of the folder, for datasets. Throws Error{failed}, which names the option.
[[nodiscard]] transfer::SpillFile file_in(const std::string& folder);

// "0..8 x -1..9 x 0..1".
TERRACE_STENCIL_PUBLIC [[nodiscard]] std::string text_of(const Range& range);

// Where in a page the dataset of this number begins, in bytes: against 4 KiB aliasing. A load waits for an earlier
// store that is not done yet where both addresses have the same lowest 12 bits.
[[nodiscard]] std::size_t shift_in_page(std::size_t number);

// Elements from a row to the next, for rows of so many: a 32nd part more at the most, beside whole lines of which
// there are an odd number. Rows of a tile would share sets of a cache where lengths are powers of two.
[[nodiscard]] std::ptrdiff_t padded_row(std::ptrdiff_t length, std::size_t element);

}  // namespace terrace::stencil
