// The pages of an arena's extents: jemalloc takes and returns runs of them, of any length; an extent goes back to
// its source when none of its pages is in use.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "memory/arenas/block_arena.hpp"
#include "memory/free_ranges.hpp"

namespace terrace::memory {

class ExtentPages {
 public:
  explicit ExtentPages(BlockArena::Extents& source) : source_(source) {}

  // Whole pages; `alignment` a power of two up to an extent. Null: there is no memory.
  void* take(std::uint64_t size, std::uint64_t alignment) noexcept;
  void give(void* address, std::uint64_t size) noexcept;

  // Around fork.
  void lock() noexcept { mutex_.lock(); }
  void unlock() noexcept { mutex_.unlock(); }

 private:
  bool add_extent();
  void use(std::uint64_t page, std::uint64_t pages);

  BlockArena::Extents& source_;
  std::mutex mutex_;
  FreeRanges free_;                              // in pages, from address 0
  std::map<std::uint64_t, std::uint64_t> used_;  // pages in use by extent: the address divided by its size
};

}  // namespace terrace::memory
