// Small blocks out of memory that somebody else places: arenas with caches for threads, over extents from a
// source. Which place an extent comes from is the source's business.
//
// Each arena has a number, and each thread a cache for each arena, so blocks of two arenas never mix. An arena
// lives as long as the process. Safe from several threads.
//
// Not jemalloc: its thread-local data of 2.6 KB do not fit into what a running program has left for a library that
// it opens, so programs could no longer open one that is linked with Terrace.
#pragma once

#include <cstddef>

namespace terrace::memory {

class BlockArena {
 public:
  static constexpr unsigned k_max = 17;                          // arenas of a process
  static constexpr std::size_t k_extent = std::size_t{2} << 20;  // what the source is asked for at a time
  static constexpr std::size_t k_largest = k_extent / 2;         // block, and alignment

  class Extents {
   public:
    virtual ~Extents() = default;
    // Zeros, at a multiple of k_extent: `size` is k_extent. Null: there is none.
    virtual void* obtain(std::size_t size) noexcept = 0;
    // Whole extents, no longer used.
    virtual void give_back(void* address, std::size_t size) noexcept = 0;
  };

  // The arena of that number (below k_max), which has the first call's `extents`; they live as long as it does.
  // False: there is no memory for it.
  static bool make(unsigned number, Extents& extents) noexcept;

  // `size` from 1 to k_largest; `alignment` a power of two up to k_largest. Null: there is no memory.
  static void* allocate(unsigned number, std::size_t size, std::size_t alignment, bool zeros) noexcept;
  // A block of this arena.
  static void release(unsigned number, void* block) noexcept;
  // Whether a block begins at this address of an extent; false also for what was given back whole.
  static bool begins(const void* address) noexcept;
  // Bytes that the block has.
  static std::size_t size_of(const void* block) noexcept;
  // What is kept for the next block goes back to the source at once: what the calling thread has in its caches,
  // and an extent of which no page is in use, else kept.
  static void purge(unsigned number) noexcept;
  // What the calling thread has in caches goes back to the arenas; later it is served without.
  static void end_thread() noexcept;

  // Around fork(2): nobody else is inside while the process is copied. A thread may lock it several times.
  static void lock() noexcept;
  static void unlock() noexcept;
};

}  // namespace terrace::memory
