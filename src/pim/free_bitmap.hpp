// SPDX-License-Identifier: Apache-2.0
// Implements the bitmap of the free rows of one PIM device, with first-fit and best-fit search for rectangles.
// Used by the allocator and by the measures of fragmentation.
//
// One bit represents a row of a subarray, set while it is free. 64 rows of a subarray form a word, and the
// words of all subarrays for the same 64 rows (a stripe) are adjacent. ANDing neighbouring words finds
// subarrays that are free together; shifting finds rows, 64 at a time. Not thread-safe: the caller locks the
// range of subarrays that it uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <vector>

#include "pim/block.hpp"

namespace terrace::pim {

// bytes: two cache lines, the unit of adjacent-line prefetch
inline constexpr std::size_t k_cache_line_pair = 128;

// Standard allocator that aligns to a pair of cache lines.
template <typename T>
struct CacheLineAllocator {
  using value_type = T;
  static T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{k_cache_line_pair}));
  }
  static void deallocate(T* values, std::size_t /*count*/) noexcept {
    ::operator delete (values, std::align_val_t{k_cache_line_pair});
  }
  bool operator==(const CacheLineAllocator&) const = default;
};

class FreeBitmap {
 public:
  // Subarrays [first, first + count).
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  struct Spot {
    std::uint32_t row = 0;
    std::uint32_t subarray = 0;
    bool operator==(const Spot&) const = default;
  };
  struct Found {
    Spot spot;
    std::uint32_t slack = 0;  // excess length of the free run that holds it
  };
  // Alignment of a block, counted from the device's first row and subarray.
  struct Alignment {
    std::uint32_t rows = 1;
    std::uint32_t subarrays = 1;
  };

  FreeBitmap(std::uint32_t rows, std::uint32_t subarrays) : FreeBitmap(rows, subarrays, subarrays) {}
  // Creates a bitmap of banks with `bank` subarrays each.
  FreeBitmap(std::uint32_t rows, std::uint32_t subarrays, std::uint32_t bank);

  // Mark a rectangle as allocated, or as free.
  void take(const Spot& spot, const Shape& shape);
  void release(const Spot& spot, const Shape& shape);
  [[nodiscard]] bool is_free(std::uint32_t row, std::uint32_t subarray) const {
    return ((word(row / 64, subarray) >> (row % 64)) & 1) != 0;
  }
  [[nodiscard]] std::uint32_t rows() const { return rows_; }
  [[nodiscard]] std::uint32_t subarrays() const { return subarrays_; }

  // Returns the lowest row, then the lowest subarray, at which the shape fits inside the range, at or after
  // `from` in that order.
  [[nodiscard]] std::optional<Spot> first_fit(const Range& range, const Shape& shape, const Alignment& alignment,
                                              const Spot& from) const;
  // Returns the first fit of a single row of a single subarray inside one bank; its row is rows() if none is free.
  [[nodiscard]] Spot first_unit(const Range& range, std::uint32_t row) const;
  // Returns the fit in the shortest free run: of subarrays for a horizontal block, of rows for a vertical one;
  // among equal ones the lowest row, then the lowest subarray.
  [[nodiscard]] std::optional<Found> best_fit(const Range& range, const Shape& shape, const Alignment& alignment,
                                              Dim dim) const;
  // Returns the lowest row >= `from` at which the shape fits with this first subarray.
  [[nodiscard]] std::optional<std::uint32_t> lowest_row(std::uint32_t subarray, const Shape& shape,
                                                        std::uint32_t from, std::uint32_t alignment) const;
  // Returns the first row of the lowest stripe at or above `row` in which the range has a free row; rows() if
  // there is none.
  [[nodiscard]] std::uint32_t first_free(const Range& range, std::uint32_t row) const;

 private:
  using Word = std::uint64_t;
  [[nodiscard]] Word word(std::uint32_t stripe, std::uint32_t subarray) const {
    return words_[begin_[subarray] + std::size_t{stripe} * bank_];
  }
  [[nodiscard]] bool in_one_bank(std::uint32_t subarray, std::uint32_t count) const {
    return begin_[subarray + count - 1] == begin_[subarray] + count - 1;
  }
  // Calls visit(words, count) for each bank's part of `count` subarrays, with their words of the first stripe.
  // The next stripe's words are `bank_` further.
  template <typename Words, typename Visit>
  void parts(Words& all, std::uint32_t subarray, std::uint32_t count, Visit visit) const;
  template <typename Change>
  void change(const Spot& spot, const Shape& shape, Change change);
  // Returns the AND of the words of `count` neighbouring subarrays.
  [[nodiscard]] Word across(std::uint32_t stripe, std::uint32_t subarray, std::uint32_t count) const;
  void gather(std::uint32_t stripe, const Range& range, std::uint32_t count, Word* out) const;
  void starts(std::uint32_t stripe, const Range& range, const Shape& shape, Word* out, Word* above) const;
  [[nodiscard]] Word tall_starts(Word word, std::uint32_t stripe, std::uint32_t subarray,
                                 const Shape& shape) const;
  template <typename Visit>
  void runs(std::uint32_t subarray, std::uint32_t count, std::uint32_t from, Visit visit) const;
  void best_horizontal(const Range& range, const Shape& shape, const Alignment& alignment, Found& best) const;
  void best_vertical(const Range& range, const Shape& shape, const Alignment& alignment, Found& best) const;

  std::uint32_t rows_, subarrays_, bank_, stripes_;
  std::vector<std::size_t> begin_;  // by subarray: its word of the first stripe
  std::vector<Word, CacheLineAllocator<Word>>
      words_;  // [bank][stripe][subarray]; rows beyond the last are never free
};

}  // namespace terrace::pim
