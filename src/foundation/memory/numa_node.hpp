// SPDX-License-Identifier: Apache-2.0
// Wraps the kernel's system calls for NUMA memory (mbind, move_pages, madvise) without libnuma: policies of
// ranges, migration and queries of pages. Functions return 0 or an errno value. None throws or allocates, so that
// a mover's thread can use them. Copiers, providers and the agent's heaps call them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/rounding.hpp"

namespace terrace::memory {

inline constexpr std::size_t k_page_batch = 4096;  // pages in one call: beyond 512 the cost of a page hardly falls

// Returns whether the status of a page means absent: never touched, swapped out, the shared zero page, or not
// mapped. The range's policy applies to it when it is touched.
bool is_absent(int status) noexcept;

// Sets MPOL_PREFERRED for the range: new pages come from `node` while it has free memory, then from its
// neighbours. Not MPOL_BIND, under which an exhausted node invokes the out-of-memory killer. Also disables
// automatic NUMA balancing of the range. Existing pages stay where they are, unless `moves_existing`, which
// migrates those that can be moved.
int prefer_node(std::uint64_t address, std::size_t size, int node, bool moves_existing = false) noexcept;
// Interleaves new pages of the range over the nodes, and disables huge pages for it.
int interleave_nodes(std::uint64_t address, std::size_t size, std::span<const int> nodes) noexcept;
// Resets the policy of the range to the thread's.
int reset_policy(std::uint64_t address, std::size_t size) noexcept;

// Splits huge pages that reach across an end of the range: the kernel migrates whole pages, and would move the
// neighbour's data along. Huge pages inside the range stay whole.
void split_boundary_huge_pages(std::uint64_t address, std::size_t size) noexcept;

// Drops the pages of anonymous memory with their contents (MADV_DONTNEED). Locked memory keeps them.
void discard_pages(std::uint64_t address, std::size_t size) noexcept;

// Populates the range with writable private pages (MADV_POPULATE_WRITE, Linux 5.14).
int populate(std::uint64_t address, std::size_t size) noexcept;

// Returns whether some page of the range is resident and not known to be on `node`. Parts may be unmapped.
bool has_pages_off_node(std::uint64_t address, std::size_t size, int node) noexcept;

// Queries the node of each page; a negative errno value for pages without one (is_absent).
int query_pages(std::span<void* const> pages, std::span<int> nodes) noexcept;
// Queries the pages from `address` on.
int query_pages(std::uint64_t address, std::span<int> nodes) noexcept;

// Migrates the resident pages to `node`; their addresses do not change. `where` gets the node of each page
// afterwards, or a negative errno value. Returns 0 if all resident pages are on `node`, else why some are not:
// ENOMEM (the node is full), EACCES (shared with another process, or a node that this process may not use), EBUSY
// (the kernel or a device has pinned them), EPERM (the system forbids the call). Takes at most k_page_batch pages.
int move_pages_to(std::span<void* const> pages, int node, std::span<int> where) noexcept;

}  // namespace terrace::memory
