// SPDX-License-Identifier: Apache-2.0
// Binds chunks to NUMA nodes by mbind(2) and queries them by move_pages(2), for the runtime. See provider.hpp.
#include "memory/provider.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "core/rounding.hpp"
#include "memory/numa_node.hpp"

namespace terrace::memory {

namespace {

// Binds a range to a node. Checks first whether any page must move, because MPOL_MF_MOVE makes the kernel wait for
// all processors even if none must.
int bind_range(std::uint64_t low, std::uint64_t high, int node) {
  const bool moves_existing = has_pages_off_node(low, high - low, node);
  if (moves_existing) split_boundary_huge_pages(low, high - low);
  return prefer_node(low, high - low, node, moves_existing);
}

}  // namespace

bool NumaProvider::bind(ChunkId first, std::uint32_t count, PlaceId place) {
  const auto node = machine_.place(place).numa_node;
  if (node < 0) return false;
  const auto& last = chunks_[first + count - 1];
  const auto error = bind_range(chunks_[first].address, last.address + last.size, node);
  if (error != EFAULT || count == 1) return error == 0;
  // EFAULT: part of the range is not mapped (a stack that has not grown yet). Bind the mapped chunks one by one.
  bool some = false;
  for (auto chunk = first; chunk < first + count; ++chunk)
    some |= bind_range(chunks_[chunk].address, chunks_[chunk].address + chunks_[chunk].size, node) == 0;
  return some;
}

void NumaProvider::discard(ChunkId first, std::uint32_t count) {
  const auto& last = chunks_[first + count - 1];
  discard_pages(chunks_[first].address, last.address + last.size - chunks_[first].address);
}

PlaceId NumaProvider::where(ChunkId id) {
  const auto& chunk = chunks_[id];
  const auto& places = machine_.places();
  std::vector<std::size_t> counts(places.size(), 0);
  std::array<int, 512> nodes;
  const auto pages = ceil_div(chunk.size, k_page);
  for (std::size_t at = 0; at < pages; at += nodes.size()) {
    const std::span slice(nodes.data(), std::min(nodes.size(), pages - at));
    if (query_pages(chunk.address + at * k_page, slice) != 0) return k_no_place;
    for (std::size_t place = 0; place < places.size(); ++place)
      if (places[place].numa_node >= 0)
        counts[place] += static_cast<std::size_t>(std::count(slice.begin(), slice.end(), places[place].numa_node));
  }
  const auto max_count = std::max_element(counts.begin(), counts.end());
  if (max_count == counts.end() || *max_count == 0) return k_no_place;
  return static_cast<PlaceId>(max_count - counts.begin());
}

}  // namespace terrace::memory
