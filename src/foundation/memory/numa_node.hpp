// The kernel's calls on NUMA memory, without a library: policies of ranges, moves and queries of pages. Each
// returns 0 or an errno value; nothing here throws or allocates, so that a mover's thread can use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/rounding.hpp"

namespace terrace::memory {

inline constexpr std::size_t k_page_batch = 4096;  // pages a call: beyond 512 the cost of a page hardly falls

// Whether a page's status says that nothing is there: never touched, swapped out, the shared page of zeros, or
// not mapped. What is touched there later comes by the range's policy.
bool is_absent(int status) noexcept;

// New pages of [address, address + size) shall come from `node` as long as it has room, then from its neighbours:
// never MPOL_BIND, under which an exhausted node calls the out-of-memory killer. Also keeps the kernel's automatic
// balancing away from the range. Pages that are there stay where they are, unless `bring`: then those that can be
// moved are.
int prefer_node(std::uint64_t address, std::size_t size, int node, bool bring = false) noexcept;
// New pages shall come from the nodes in turn, page by page, and be small ones.
int interleave_nodes(std::uint64_t address, std::size_t size, std::span<const int> nodes) noexcept;
// Back to the thread's policy.
int forget_preference(std::uint64_t address, std::size_t size) noexcept;

// Huge pages that reach across an end of the range are split: the kernel moves whole pages, and would take the
// neighbour's data along. Those inside stay whole.
void part_from_neighbours(std::uint64_t address, std::size_t size) noexcept;

// All pages of the range are there and this process's own afterwards, and may be written (Linux 5.14).
int populate(std::uint64_t address, std::size_t size) noexcept;

// Whether some page of the range is in memory, and not known to be the node's. Parts may be unmapped.
bool any_elsewhere(std::uint64_t address, std::size_t size, int node) noexcept;

// The node of each page, or a negative errno value (is_absent).
int query_pages(std::span<void* const> pages, std::span<int> nodes) noexcept;
// The same for the pages from `address` on.
int query_pages(std::uint64_t address, std::span<int> nodes) noexcept;

// Moves the pages that are there to `node`; they keep their addresses. `where` gets each page's node afterwards,
// or a negative errno value. 0 when all that is there is on `node`; else the reason why some is not: ENOMEM (the
// node is full), EACCES (shared with another process, or a node that this process may not use), EBUSY (the kernel
// or a device holds them), EPERM (the system forbids the call). At most k_page_batch pages.
int move_pages_to(std::span<void* const> pages, int node, std::span<int> where) noexcept;

}  // namespace terrace::memory
