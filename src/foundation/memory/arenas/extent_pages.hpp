// SPDX-License-Identifier: Apache-2.0
// Allocates runs of pages from the extents (2 MiB each) of an arena. The first page of each extent is a table that
// maps each page to its PageRun. So the owner of a block is found from its address in one step. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>

#include "core/rounding.hpp"
#include "memory/arenas/block_arena.hpp"
#include "memory/free_ranges.hpp"

namespace terrace::memory {

struct PageRun;

class ExtentPages {
 public:
  explicit ExtentPages(BlockArena::ExtentSource& source) : source_(source) {}

  // Allocates `pages` pages and points their table entries to `run`. `alignment` is in pages, a power of two up to
  // half an extent. Returns 0 if there is no memory.
  std::uint64_t allocate(std::uint64_t pages, std::uint64_t alignment, PageRun* run) noexcept;
  // Frees pages. Keeps one empty extent for the next allocation.
  void release(std::uint64_t address, std::uint64_t pages) noexcept;
  // Returns the empty extent to the source.
  void release_empty_extent() noexcept;

  // Returns the run that an allocated page belongs to.
  [[nodiscard]] static PageRun* run_of(const void* block) noexcept {
    const auto address = reinterpret_cast<std::uint64_t>(block);
    return reinterpret_cast<PageRun* const*>(  // NOLINT(performance-no-int-to-ptr)
        align_down(address, BlockArena::k_extent_size))[address % BlockArena::k_extent_size / k_page];
  }

 private:
  bool add_extent();
  void release_extent(std::uint64_t extent) noexcept;

  BlockArena::ExtentSource& source_;
  FreeRanges free_;                              // page numbers: addresses divided by k_page
  std::map<std::uint64_t, std::uint64_t> used_;  // pages in use, by extent number (address / size)
  std::uint64_t empty_ = 0;                      // number of the empty extent that is kept; 0: none
};

}  // namespace terrace::memory
