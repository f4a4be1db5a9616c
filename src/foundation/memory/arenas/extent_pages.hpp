// The pages of an arena's extents, in runs of any length. An extent's first page is a table: for each of its pages
// what the run is that it belongs to. So whose a block is follows from its address in one step. Not for several
// threads at once.
#pragma once

#include <cstdint>
#include <map>

#include "core/rounding.hpp"
#include "memory/arenas/block_arena.hpp"
#include "memory/free_ranges.hpp"

namespace terrace::memory {

struct Run;

class ExtentPages {
 public:
  explicit ExtentPages(BlockArena::Extents& source) : source_(source) {}

  // `pages` pages, whose table entries are `run` from then on; `alignment` in pages, a power of two up to half an
  // extent. 0: there is no memory.
  std::uint64_t take(std::uint64_t pages, std::uint64_t alignment, Run* run) noexcept;
  // One extent without a page in use is kept for the next that takes some.
  void give(std::uint64_t address, std::uint64_t pages) noexcept;
  // But not any longer.
  void give_back_empty() noexcept;

  // Of a page that is taken.
  [[nodiscard]] static Run* run_of(const void* block) noexcept {
    const auto address = reinterpret_cast<std::uint64_t>(block);
    return reinterpret_cast<Run* const*>(  // NOLINT(performance-no-int-to-ptr)
        align_down(address, BlockArena::k_extent))[address % BlockArena::k_extent / k_page];
  }

 private:
  bool add_extent();
  void give_back(std::uint64_t extent) noexcept;

  BlockArena::Extents& source_;
  FreeRanges free_;                              // in pages, from address 0
  std::map<std::uint64_t, std::uint64_t> used_;  // pages in use by extent: the address divided by its size
  std::uint64_t empty_ = 0;                      // the extent that is kept; 0: none
};

}  // namespace terrace::memory
