// SPDX-License-Identifier: Apache-2.0
// Implements the published allocator for PIM as the baseline of bench/pim: MCHPC'17, "Bit contiguous memory
// allocation for processing in memory", section 4.2. It keeps one bit for each row and subarray, for each row the
// longest free run of its subarrays (the subarray contig vector), and for each subarray the longest free run of
// its rows (the row contig vector). A search scans the vectors, then searches densely in a crossing section of
// what they offer.
//
// Choices where the paper is silent:
// - Which elements of the vectors are recomputed at allocation and release. Here, in the paper's favour, those
//   of the rows and subarrays of the block. Update::all recomputes all of them.
// - How far the first crossing section reaches, and what follows if the search in it fails. Here it is the
//   first whole run of rows and the first whole run of subarrays whose elements suffice; then the next ones are
//   searched. A free rectangle lies in such a crossing with all of its rows and subarrays, so it is found
//   whenever one exists.
// - How the dense search keeps to O(p x q). Here one pass over the rows tracks the free depth of each subarray.
// - Thread safety. One lock around everything, as a library with these global vectors needs.
// - Banks. The search ignores them.
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

  // Creates an allocator of one device. Throws Error{invalid} if there are no rows or no subarrays.
  ContigVectors(std::uint32_t rows, std::uint32_t subarrays, Update update = Update::changed);

  // Allocates a block; returns nothing if no rectangle of this shape is free. Throws Error{invalid} for one
  // without rows or subarrays.
  std::optional<Block> allocate(const Shape& shape);
  // Releases a block of allocate(). Call it once per block.
  void release(const Block& block);

  // Return the vectors. Require that no other thread uses the allocator.
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
  // Returns the first run at or after `from` of at least `count` elements that are each at least `least`.
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
  std::vector<std::uint32_t> deep_;  // dense search: free rows of a subarray that end at the current one
};

}  // namespace terrace::pim
