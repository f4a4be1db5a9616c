// SPDX-License-Identifier: Apache-2.0
// Allocates and frees runs of pages in the 2 MiB extents of an arena (arena.cpp), for its slabs and large blocks.
// See extent_pages.hpp.
#include "memory/arenas/extent_pages.hpp"

#include <algorithm>
#include <new>

namespace terrace::memory {

namespace {

constexpr std::uint64_t k_pages = BlockArena::k_extent_size / k_page;
static_assert(k_pages * sizeof(void*) == k_page);

// Returns the table of the page's extent, in the extent's first page.
PageRun** table_at(std::uint64_t page) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<PageRun**>(page / k_pages * BlockArena::k_extent_size);
}

}  // namespace

// Obtains an extent from the source. Returns false if there is no memory.
bool ExtentPages::add_extent() {
  void* const got = source_.allocate_extent(BlockArena::k_extent_size);
  if (!got) return false;
  const auto page = reinterpret_cast<std::uint64_t>(got) / k_page;
  try {
    used_.emplace(page / k_pages, 0);
    free_.release(page + 1, k_pages - 1);
    return true;
  } catch (const std::bad_alloc&) {
    used_.erase(page / k_pages);
    source_.release_extent(got, BlockArena::k_extent_size);
    return false;
  }
}

std::uint64_t ExtentPages::allocate(std::uint64_t pages, std::uint64_t alignment, PageRun* run) noexcept {
  try {
    auto found = free_.allocate(pages, alignment);
    if (!found && add_extent()) found = free_.allocate(pages, alignment);
    if (!found) return 0;
    const auto extent = *found / k_pages;
    used_.find(extent)->second += pages;
    if (empty_ == extent) empty_ = 0;
    std::fill_n(table_at(*found) + *found % k_pages, pages, run);
    return *found * k_page;
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

void ExtentPages::release(std::uint64_t address, std::uint64_t pages) noexcept {
  const auto page = address / k_page;
  const auto extent = page / k_pages;
  std::fill_n(table_at(page) + page % k_pages, pages, nullptr);
  try {
    free_.release(page, pages);
  } catch (const std::bad_alloc&) {
    return;  // the pages leak: they are never allocated again
  }
  const auto used = used_.find(extent);
  used->second -= pages;
  if (used->second > 0) return;
  if (empty_ != 0) release_extent(empty_);
  empty_ = extent;
}

void ExtentPages::release_empty_extent() noexcept {
  if (empty_ != 0) release_extent(empty_);
  empty_ = 0;
}

// Returns an extent without used pages to the source.
void ExtentPages::release_extent(std::uint64_t extent) noexcept {
  try {
    if (!free_.allocate_at(extent * k_pages + 1, k_pages - 1)) return;
  } catch (const std::bad_alloc&) {
    return;
  }
  used_.erase(extent);
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  auto* const address = reinterpret_cast<void*>(extent * BlockArena::k_extent_size);
  source_.release_extent(address, BlockArena::k_extent_size);
}

}  // namespace terrace::memory
