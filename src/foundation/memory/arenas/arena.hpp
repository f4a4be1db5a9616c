// SPDX-License-Identifier: Apache-2.0
// Declares one arena of BlockArena, the allocator of small blocks. Blocks of up to 32 KiB come from slabs, page
// runs that hold blocks of one size class; larger blocks are page runs of their own. Of the slabs without a used
// block, one of each class is kept. Thread-safe, by one mutex.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "memory/arenas/extent_pages.hpp"
#include "memory/arenas/size_classes.hpp"

namespace terrace::memory {

// Describes contiguous pages: a slab, or one large block.
struct PageRun {
  std::uint64_t address = 0;
  std::uint64_t pages = 0;
  std::size_t block = 0;  // size of one block in bytes
  std::size_t size_class = 0;
  // The following are used by slabs only.
  void* free = nullptr;      // free list, linked through the first word of each block
  std::uint32_t used = 0;    // number of allocated blocks
  std::uint32_t fresh = 0;   // blocks from this index on were never allocated
  std::uint32_t blocks = 0;  // number of blocks
  PageRun* next = nullptr;   // in the list of slabs that have free blocks
  PageRun* previous = nullptr;
};

class Arena {
 public:
  static constexpr std::size_t k_max_class_size = 32768;
  static constexpr std::size_t k_num_classes = size_class_of(k_max_class_size) + 1;

  explicit Arena(BlockArena::ExtentSource& extents) : pages_(extents) {}

  // Allocates up to `count` blocks of the class into `list`, linked through their first words. Returns how many.
  std::size_t allocate_batch(std::size_t size_class, std::size_t count, void** list) noexcept;
  // Frees a linked list of blocks of any classes.
  void release_batch(void* list) noexcept;
  // Allocate and free a block that has a page run of its own.
  void* allocate_large(std::size_t size, std::size_t alignment) noexcept;
  void release_large(PageRun* run) noexcept;
  // Returns empty slabs and the empty extent to the source.
  void purge() noexcept;

  void lock() noexcept { mutex_.lock(); }
  void unlock() noexcept { mutex_.unlock(); }

 private:
  struct SlabLists {
    PageRun* partial = nullptr;  // slabs with free blocks
    PageRun* empty = nullptr;    // one of them, of which none is in use
  };
  PageRun* add_slab(std::size_t size_class) noexcept;
  void link(SlabLists& lists, PageRun* slab) noexcept;
  void unlink(SlabLists& lists, PageRun* slab) noexcept;
  void drop(SlabLists& lists, PageRun* slab) noexcept;

  std::mutex mutex_;
  ExtentPages pages_;
  std::array<SlabLists, k_num_classes> classes_{};
};

}  // namespace terrace::memory
