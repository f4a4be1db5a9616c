// SPDX-License-Identifier: Apache-2.0
// Implements the search and the bookkeeping of the published PIM allocator, the baseline of bench/pim and of the
// allocator's tests. See contig_vectors.hpp.
#include "pim/published/contig_vectors.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"

namespace terrace::pim {

ContigVectors::ContigVectors(std::uint32_t rows, std::uint32_t subarrays, Update update)
    : rows_(rows),
      subarrays_(subarrays),
      update_(update),
      bits_((std::size_t{rows} * subarrays + 63) / 64),
      subarray_contig_(rows, subarrays),
      row_contig_(subarrays, rows),
      deep_(subarrays) {
  if (rows == 0 || subarrays == 0)
    throw Error(Code::invalid, "a device of " + std::to_string(rows) + " rows and " + std::to_string(subarrays) +
                                   " subarrays; pass at least 1 of each");
}

std::optional<Block> ContigVectors::allocate(const Shape& shape) {
  if (shape.rows == 0 || shape.subarrays == 0)
    throw Error(Code::invalid, "a block of " + std::to_string(shape.rows) + " rows x " +
                                   std::to_string(shape.subarrays) +
                                   " subarrays was requested; request at least 1 of each");
  const std::lock_guard guard(lock_);
  const auto spot = search(shape);
  if (!spot) return std::nullopt;
  const Block block{0, spot->subarray, spot->row, shape};
  mark(block, true);
  return block;
}

void ContigVectors::release(const Block& block) {
  const std::lock_guard guard(lock_);
  mark(block, false);
}

std::optional<ContigVectors::Run> ContigVectors::run_of(const std::vector<std::uint32_t>& contig,
                                                        std::uint32_t from, std::uint32_t least,
                                                        std::uint32_t count) {
  std::uint32_t length = 0;
  for (auto i = from; i < contig.size(); ++i) {
    if (contig[i] >= least) {
      ++length;
      continue;
    }
    if (length >= count) return Run{i - length, length};
    length = 0;
  }
  if (length < count) return std::nullopt;
  return Run{static_cast<std::uint32_t>(contig.size()) - length, length};
}

// Scans the two vectors for runs that can hold the shape, and searches their crossings.
std::optional<ContigVectors::Spot> ContigVectors::search(const Shape& shape) {
  for (auto rows = run_of(subarray_contig_, 0, shape.subarrays, shape.rows); rows;
       rows = run_of(subarray_contig_, rows->first + rows->count, shape.subarrays, shape.rows)) {
    for (auto subarrays = run_of(row_contig_, 0, shape.rows, shape.subarrays); subarrays;
         subarrays = run_of(row_contig_, subarrays->first + subarrays->count, shape.rows, shape.subarrays)) {
      if (const auto spot = search_densely(*rows, *subarrays, shape)) return spot;
    }
  }
  return std::nullopt;
}

std::optional<ContigVectors::Spot> ContigVectors::search_densely(const Run& rows, const Run& subarrays,
                                                                 const Shape& shape) {
  std::fill_n(deep_.begin(), subarrays.count, 0);
  for (auto row = rows.first; row < rows.first + rows.count; ++row) {
    std::uint32_t wide = 0;  // consecutive subarrays that are deep enough
    for (std::uint32_t i = 0; i < subarrays.count; ++i) {
      deep_[i] = taken(row, subarrays.first + i) ? 0 : deep_[i] + 1;
      wide = deep_[i] >= shape.rows ? wide + 1 : 0;
      if (wide == shape.subarrays) return Spot{row + 1 - shape.rows, subarrays.first + i + 1 - wide};
    }
  }
  return std::nullopt;
}

// Sets or clears the bits of a block and recomputes the vectors' elements.
void ContigVectors::mark(const Block& block, bool taken) {
  const auto last_row = block.row + block.shape.rows;
  const auto last_subarray = block.subarray + block.shape.subarrays;
  for (auto row = block.row; row < last_row; ++row) {
    for (auto subarray = block.subarray; subarray < last_subarray; ++subarray) {
      const auto bit = std::size_t{row} * subarrays_ + subarray;
      const auto mask = std::uint64_t{1} << (bit % 64);
      bits_[bit / 64] = taken ? bits_[bit / 64] | mask : bits_[bit / 64] & ~mask;
    }
  }
  const bool all = update_ == Update::all;
  for (auto row = all ? 0 : block.row; row < (all ? rows_ : last_row); ++row) update_row(row);
  for (auto subarray = all ? 0 : block.subarray; subarray < (all ? subarrays_ : last_subarray); ++subarray)
    update_subarray(subarray);
}

void ContigVectors::update_row(std::uint32_t row) {
  std::uint32_t longest = 0, length = 0;
  for (std::uint32_t subarray = 0; subarray < subarrays_; ++subarray) {
    length = taken(row, subarray) ? 0 : length + 1;
    longest = std::max(longest, length);
  }
  subarray_contig_[row] = longest;
}

void ContigVectors::update_subarray(std::uint32_t subarray) {
  std::uint32_t longest = 0, length = 0;
  for (std::uint32_t row = 0; row < rows_; ++row) {
    length = taken(row, subarray) ? 0 : length + 1;
    longest = std::max(longest, length);
  }
  row_contig_[subarray] = longest;
}

}  // namespace terrace::pim
