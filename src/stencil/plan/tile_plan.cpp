// SPDX-License-Identifier: Apache-2.0
// Computes where each loop ends in each tile of a chain (skewed tiling), from the last loop to the first. Used by
// the executors `tiled`, `streamed` and `gpu` and by virtual time. See tile_plan.hpp.
#include "stencil/plan/tile_plan.hpp"

#include <algorithm>
#include <limits>

#include "stencil/plan/chain_use.hpp"

namespace terrace::stencil {
namespace {

constexpr auto k_nothing = std::numeric_limits<std::ptrdiff_t>::min() / 2;

// Stores, by dataset, how far earlier loops must have advanced: up to there, values that later loops of the
// tile read are written, and values that they overwrite have been read.
struct Needs {
  std::vector<std::ptrdiff_t> written;
  std::vector<std::ptrdiff_t> read;
};

std::size_t datasets_of(std::span<const Loop> chain) {
  std::size_t count = 0;
  for (const auto& loop : chain)
    for (const auto& argument : loop.arguments) count = std::max(count, std::size_t{argument.dataset} + 1);
  return count;
}

// The ends of a range in one dimension, seen from the side where tiles begin; low_of() and high_of() turn offsets
// alike.
struct Side {
  std::ptrdiff_t begin;
  std::ptrdiff_t end;
};

Side side_of(const Range& range, std::size_t d, bool is_reversed) {
  return is_reversed ? Side{-range.end[d], -range.begin[d]} : Side{range.begin[d], range.end[d]};
}

std::ptrdiff_t low_of(const Argument& argument, std::size_t d, bool is_reversed) {
  return is_reversed ? -argument.high[d] : argument.low[d];
}

std::ptrdiff_t high_of(const Argument& argument, std::size_t d, bool is_reversed) {
  return is_reversed ? -argument.low[d] : argument.high[d];
}

// Returns the end that a loop must reach in a tile for the loops after it.
std::ptrdiff_t needed_end(const Loop& loop, const Needs& needs, std::size_t d, bool is_reversed) {
  auto end = k_nothing;
  for (const auto& argument : loop.arguments) {
    const auto overwritten = needs.read[argument.dataset];
    if (writes(argument.access)) end = std::max({end, needs.written[argument.dataset], overwritten});
    // Points that read a value before it is overwritten: up to `low` further.
    if (reads(argument.access) && overwritten != k_nothing)
      end = std::max(end, overwritten - low_of(argument, d, is_reversed));
  }
  return end;
}

// Adds what a loop that reaches `end` needs of the loops before it.
void add_needs(const Loop& loop, std::ptrdiff_t end, std::size_t d, bool is_reversed, Needs& needs) {
  for (const auto& argument : loop.arguments) {
    auto& written = needs.written[argument.dataset];
    auto& read = needs.read[argument.dataset];
    if (reads(argument.access)) written = std::max(written, end + high_of(argument, d, is_reversed));
    if (writes(argument.access)) read = std::max(read, end);
  }
}

}  // namespace

TilePlan::TilePlan(std::span<const Loop> chain, const std::array<std::ptrdiff_t, k_max_dims>& size,
                   const std::array<bool, k_max_dims>& reversed)
    : size_(size), reversed_(reversed) {
  for (const auto& loop : chain) ranges_.push_back(loop.range);
  for (std::size_t d = 0; d < k_max_dims; ++d) cut(chain, d, size[d]);
}

void TilePlan::cut(std::span<const Loop> chain, std::size_t d, std::ptrdiff_t size) {
  const auto all = hull_of(chain);
  const auto length = all.length(d);
  const auto tiles = size <= 0 ? 1 : std::max<std::ptrdiff_t>((length + size - 1) / size, 1);
  tiles_[d] = static_cast<std::size_t>(tiles);
  ends_[d].resize(tiles_[d] * chain.size());
  const auto datasets = datasets_of(chain);
  for (std::size_t t = 0; t < tiles_[d]; ++t) {
    const auto is_last = t + 1 == tiles_[d];
    const auto bound = side_of(all, d, reversed_[d]).begin + static_cast<std::ptrdiff_t>(t + 1) * size;
    auto* const ends = &ends_[d][t * chain.size()];
    Needs needs{std::vector(datasets, k_nothing), std::vector(datasets, k_nothing)};
    for (auto l = chain.size(); l-- > 0;) {
      const auto side = side_of(ranges_[l], d, reversed_[d]);
      const auto begin = t == 0 ? side.begin : ends_[d][(t - 1) * chain.size() + l];
      const auto wanted = is_last ? side.end : std::max(bound, needed_end(chain[l], needs, d, reversed_[d]));
      ends[l] = std::clamp(wanted, begin, std::max(begin, side.end));
      // A loop that has not begun needs nothing.
      if (ends[l] > side.begin && !ranges_[l].empty()) add_needs(chain[l], ends[l], d, reversed_[d], needs);
      if (!is_last && !ranges_[l].empty()) skew_[d] = std::max(skew_[d], ends[l] - std::max(bound, side.begin));
    }
  }
}

Range TilePlan::part(std::size_t loop, const std::array<std::size_t, k_max_dims>& tile) const {
  Range part = ranges_[loop];
  for (std::size_t d = 0; d < k_max_dims; ++d) {
    const auto begin =
        tile[d] > 0 ? ends_[d][(tile[d] - 1) * loops() + loop] : side_of(ranges_[loop], d, reversed_[d]).begin;
    const auto end = ends_[d][tile[d] * loops() + loop];
    part.begin[d] = reversed_[d] ? -end : begin;
    part.end[d] = reversed_[d] ? -begin : end;
  }
  return part;
}

Range TilePlan::part_of_all(std::size_t loop, std::size_t dimension, std::size_t first, std::size_t last) const {
  std::array<std::size_t, k_max_dims> begin{0, 0, 0}, end{0, 0, 0};
  begin[dimension] = first;
  end[dimension] = last - 1;
  const auto from = part(loop, begin), to = part(loop, end);
  auto all = ranges_[loop];
  all.begin[dimension] = std::min(from.begin[dimension], to.begin[dimension]);
  all.end[dimension] = std::max(from.end[dimension], to.end[dimension]);
  return all;
}

}  // namespace terrace::stencil
