// SPDX-License-Identifier: Apache-2.0
// Describes blocks and datasets (BlockInfo, DatasetInfo) and allocates the memory of datasets. Used throughout the
// stencil library.
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

inline constexpr std::size_t k_huge_page = std::size_t{2} << 20U;  // bytes; the small page size is 4 KiB

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
  Range range;              // index range, halo included
  std::ptrdiff_t row = 0;   // elements between consecutive rows
  std::ptrdiff_t plane = 0;
  bool is_temporary = false;                    // values do not outlive a chain, except at `kept`
  std::vector<Range> kept{};                    // of a temporary: points whose values outlive a chain
  std::optional<Number> number = std::nullopt;  // element type, if files can store it

  // Returns the bytes from the first element to the end of the last row.
  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(plane) * static_cast<std::size_t>(range.length(2)) * element;
  }
  // Returns whether any value outlives a chain.
  [[nodiscard]] bool outlives_chains() const { return !is_temporary || !kept.empty(); }
  // Returns whether values at some of these points outlive a chain.
  [[nodiscard]] bool keeps(const Range& points) const {
    return !is_temporary ||
           std::ranges::any_of(kept, [&](const Range& one) { return !intersection(one, points).empty(); });
  }
  // Returns the slowest-varying dimension with more than one point.
  [[nodiscard]] std::size_t slow_dimension() const {
    return range.length(2) > 1 ? 2 : range.length(1) > 1 ? 1 : 0;
  }
  // Returns a point's offset from the first element, in bytes.
  [[nodiscard]] std::ptrdiff_t offset(const Point& point) const {
    return ((point[0] - range.begin[0]) + (point[1] - range.begin[1]) * row +
            (point[2] - range.begin[2]) * plane) *
           static_cast<std::ptrdiff_t>(element);
  }
  // Returns an accessor for memory that begins with the first element.
  [[nodiscard]] View view(std::byte* first) const { return {first + offset({0, 0, 0}), row, plane}; }
};

// Owns the memory of one dataset. Rows are cache-line aligned; the starting line is staggered by dataset to
// avoid set conflicts (shift_in_page()). Values are 0 at first.
class Memory {
 public:
  // Allocates `bytes`, in a file of `folder` if that is not empty. `number` is the dataset's index. Throws
  // Error{no_memory}, which names the dataset, or Error{failed}, which names the folder.
  Memory(const std::string& name, std::size_t bytes, std::size_t number, const std::string& folder = {});
  ~Memory() { release(); }
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&&) = delete;

  [[nodiscard]] std::byte* first() const { return first_; }
  // Unmaps the memory. May be called more than once.
  void release();

 private:
  void* mapping_ = nullptr;
  std::size_t size_ = 0;
  std::byte* first_ = nullptr;
  std::unique_ptr<transfer::SpillFile> file_;
};

// Creates a backing file for datasets in the folder. Throws Error{failed}, which names the option.
[[nodiscard]] transfer::SpillFile file_in(const std::string& folder);

// Formats a range: "0..8 x -1..9 x 0..1".
TERRACE_STENCIL_PUBLIC [[nodiscard]] std::string text_of(const Range& range);

// Returns the offset in a page at which dataset `number` begins, in bytes. Staggering avoids 4 KiB aliasing: a
// load waits for an earlier unfinished store if both addresses agree in the lowest 12 bits.
[[nodiscard]] std::size_t shift_in_page(std::size_t number);

// Returns the row stride in elements for rows of `length` elements. It adds at most 1/32 and makes the number
// of cache lines odd: with power-of-two strides, the rows of a tile would conflict in the sets of a cache.
[[nodiscard]] std::ptrdiff_t padded_row(std::ptrdiff_t length, std::size_t element);

}  // namespace terrace::stencil
