// SPDX-License-Identifier: Apache-2.0
// The allocator that was published for such memories, as a baseline: MCHPC'17, "Bit contiguous memory allocation
// for processing in memory", section 4.2. A matrix of one bit for each row and subarray; for each row the longest
// free run of its subarrays (the subarray contig vector), for each subarray the longest free run of its rows (the
// row contig vector). A search goes through the vectors, then densely through a crossing section of what they
// offer.
//
// What the paper leaves open, and what is done here:
// - Which elements of the vectors are computed anew when a block is taken or given back. The kinder reading: those
//   of the rows and of the subarrays that the block is in. The other, all of them, is Update::all.
// - How far the first crossing section reaches, and what follows when nothing is found in it. Here it is the first
//   whole run of rows and the first whole run of subarrays whose elements suffice, and what is missed in one is
//   looked for in the next. A free rectangle is in such a crossing with all of its rows and subarrays: so it is
//   found whenever there is one.
// - How the dense search keeps to O(p x q). Here one pass over the rows carries how deep each subarray is free.
// - How threads are kept apart. One lock around everything, as a library with these global vectors needs.
// - Banks. The search knows none.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "pim/block.hpp"

namespace terrace::pim {

class ContigVectors {
 public:
  enum class Update : std::uint8_t { changed, all };

  // Of one device. Throws Error{invalid} where there are no rows or no subarrays.
  ContigVectors(std::uint32_t rows, std::uint32_t subarrays, Update update = Update::changed);

  // Nothing where no rectangle of this shape is free. Throws Error{invalid} for one without rows or subarrays.
  std::optional<Block> allocate(const Shape& shape);
  // What allocate() gave, once.
  void release(const Block& block);

  // For a moment without other threads.
  [[nodiscard]] const std::vector<std::uint32_t>& subarray_contig() const { return subarray_contig_; }
  [[nodiscard]] const std::vector<std::uint32_t>& row_contig() const { return row_contig_; }

 private:
  struct Run {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  struct Spot {
    std::uint32_t row = 0;
    std::uint32_t subarray = 0;
  };

  [[nodiscard]] bool taken(std::uint32_t row, std::uint32_t subarray) const {
    const auto bit = std::size_t{row} * subarrays_ + subarray;
    return ((bits_[bit / 64] >> (bit % 64)) & 1) != 0;
  }
  // The first run from `from` on of `count` elements or more that are each `least` or more.
  static std::optional<Run> run_of(const std::vector<std::uint32_t>& contig, std::uint32_t from,
                                   std::uint32_t least, std::uint32_t count);
  std::optional<Spot> search(const Shape& shape);
  std::optional<Spot> search_densely(const Run& rows, const Run& subarrays, const Shape& shape);
  void mark(const Block& block, bool taken);
  void update_row(std::uint32_t row);
  void update_subarray(std::uint32_t subarray);

  std::uint32_t rows_, subarrays_;
  Update update_;
  std::mutex lock_;
  std::vector<std::uint64_t> bits_;             // [row][subarray], set while allocated
  std::vector<std::uint32_t> subarray_contig_;  // [row]
  std::vector<std::uint32_t> row_contig_;       // [subarray]
  std::vector<std::uint32_t> deep_;             // of a dense search: free rows of a subarray that end at this one
};

}  // namespace terrace::pim
