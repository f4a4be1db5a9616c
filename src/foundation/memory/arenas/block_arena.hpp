// SPDX-License-Identifier: Apache-2.0
// Allocates small blocks from extents of 2 MiB that a source provides: arenas with thread caches. The sources are
// heaps of the agent, which decide where an extent is placed.
//
// Each arena has a number, and each thread a cache for each arena, so blocks of two arenas never share a page. An
// arena lives as long as the process. Thread-safe.
//
// Not jemalloc: its thread-local data of 2.6 KB exceed the static TLS that is left for libraries opened with
// dlopen(3). Programs could no longer open a library that is linked with Terrace.
#pragma once

#include <cstddef>

namespace terrace::memory {

class BlockArena {
 public:
  static constexpr unsigned k_max_arenas = 17;                        // number of arenas
  static constexpr std::size_t k_extent_size = std::size_t{2} << 20;  // bytes of an extent
  static constexpr std::size_t k_max_block_size = k_extent_size / 2;  // also the largest alignment

  class ExtentSource {
   public:
    virtual ~ExtentSource() = default;
    // Returns a zeroed extent at a multiple of k_extent_size; `size` is k_extent_size. Null: out of memory.
    virtual void* allocate_extent(std::size_t size) noexcept = 0;
    // Takes back whole extents that are no longer used.
    virtual void release_extent(void* address, std::size_t size) noexcept = 0;
  };

  // Creates the arena of that number (below k_max_arenas) unless it exists. Borrows `extents`, which must live as
  // long as the process. Returns false if there is no memory.
  static bool create(unsigned number, ExtentSource& extents) noexcept;

  // Allocates a block. Requires: 1 <= size <= k_max_block_size; `alignment` a power of two up to k_max_block_size.
  // Returns null if there is no memory.
  static void* allocate(unsigned number, std::size_t size, std::size_t alignment, bool zeros) noexcept;
  // Frees a block of this arena.
  static void release(unsigned number, void* block) noexcept;
  // Returns whether a block begins at this address, which must lie in a live extent; false in freed pages.
  static bool is_block_start(const void* address) noexcept;
  // Returns the usable size of the block.
  static std::size_t size_of(const void* block) noexcept;
  // Flushes the calling thread's cache and returns all empty slabs and extents to the source.
  static void purge(unsigned number) noexcept;
  // Flushes and deletes the caches of the calling thread, which is served without caches from then on.
  static void on_thread_exit() noexcept;

  // Lock and unlock all arenas around fork(2), so that no other thread is inside during the copy. Recursive.
  static void lock() noexcept;
  static void unlock() noexcept;
};

}  // namespace terrace::memory
