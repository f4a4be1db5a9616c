// SPDX-License-Identifier: Apache-2.0
// Cuts a chain of loops into tiles of its outermost dimension for the price models of virtual time (runs of a
// machine model, without kernels), and bisects for the tile length that fits a memory. Called by the modes `slots`
// and `unified`.
#include "stencil/virtual/outer_tiles.hpp"

#include <algorithm>

namespace terrace::stencil {
namespace {

std::array<std::ptrdiff_t, k_max_dims> size_of(std::size_t outer, std::ptrdiff_t length) {
  std::array<std::ptrdiff_t, k_max_dims> size{0, 0, 0};
  size[outer] = length;
  return size;
}

}  // namespace

OuterTiles::OuterTiles(std::span<const Loop> chain, std::span<const DatasetInfo> infos, std::ptrdiff_t length)
    : chain_(chain),
      infos_(infos),
      outer_(outer_dimension(chain)),
      plan_(chain, size_of(outer_, length)),
      used_(plan_.tiles()[outer_]),
      uses_(uses_of(chain)) {
  for (std::size_t t = 0; t < used_.size(); ++t)
    for (std::size_t l = 0; l < chain.size(); ++l) {
      const auto range = part(l, t);
      if (range.empty()) continue;
      for (const auto& argument : chain[l].arguments) {
        const auto reached = reached_range(range, argument);
        auto [found, is_new] =
            used_[t].try_emplace(argument.dataset, OuterInterval{reached.begin[outer_], reached.end[outer_]});
        found->second.begin = std::min(found->second.begin, reached.begin[outer_]);
        found->second.end = std::max(found->second.end, reached.end[outer_]);
      }
    }
}

Range OuterTiles::part(std::size_t loop, std::size_t tile) const {
  std::array<std::size_t, k_max_dims> at{0, 0, 0};
  at[outer_] = tile;
  return plan_.part(loop, at);
}

double OuterTiles::row_bytes(DatasetId dataset) const {
  const auto& info = infos_[dataset];
  return static_cast<double>(info.bytes()) / static_cast<double>(info.range.length(outer_));
}

double OuterTiles::largest_footprint() const {
  double largest = 0;
  for (const auto& used : used_) {
    double bytes_used = 0;
    for (const auto& [dataset, interval] : used) bytes_used += bytes(dataset, interval);
    largest = std::max(largest, bytes_used);
  }
  return largest;
}

double OuterTiles::loop_bytes(std::size_t tile) const {
  double sum = 0;
  for (std::size_t l = 0; l < chain_.size(); ++l) {
    const auto range = part(l, tile);
    if (!range.empty()) sum += bytes_of_part(chain_[l], range);
  }
  return sum;
}

double OuterTiles::pieces(std::size_t tile) const {
  double count = 0;
  for (std::size_t l = 0; l < chain_.size(); ++l) count += part(l, tile).empty() ? 0 : 1;
  return count;
}

// Searches the longest tiles of which one fits into `bytes`; the modes call it for each new chain.
std::ptrdiff_t length_that_fits(std::span<const Loop> chain, std::span<const DatasetInfo> infos, double bytes) {
  // Bisection: footprints grow with the length.
  std::ptrdiff_t fits = 0, beyond = hull_of(chain).length(outer_dimension(chain)) + 1;
  while (beyond - fits > std::max<std::ptrdiff_t>(1, fits / 16)) {
    const auto length = fits + (beyond - fits) / 2;
    if (OuterTiles(chain, infos, length).largest_footprint() <= bytes)
      fits = length;
    else
      beyond = length;
  }
  return fits;
}

}  // namespace terrace::stencil
