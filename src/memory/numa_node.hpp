// The kernel's calls on NUMA memory, without a library: policies of ranges, moves and queries of pages. Each returns
// 0 or an errno value; nothing here throws, so that movers can use it anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace terrace::memory {

inline constexpr std::size_t k_page = 4096;

// New pages of [address, address + size) shall come from `node` as long as it has room, then from its neighbours:
// never MPOL_BIND, under which an exhausted node calls the out-of-memory killer. Also keeps the kernel's automatic
// balancing away from the range.
int prefer_node(std::uint64_t address, std::size_t size, int node) noexcept;

// The node of each page, or a negative errno value (-ENOENT: not touched yet).
int query_pages(std::uint64_t address, std::span<int> nodes) noexcept;

// Moves pages that are there to `node`; `status` gets each page's node afterwards, or a negative errno value. Pages
// keep their addresses.
int move_pages_to(std::uint64_t address, int node, std::span<int> status) noexcept;

}  // namespace terrace::memory
