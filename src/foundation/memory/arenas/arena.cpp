// SPDX-License-Identifier: Apache-2.0
// Implements one arena of the allocator of small blocks: slabs of one size class, and page runs of large blocks.
// The thread caches of block_arena.cpp call it. See arena.hpp.
#include "memory/arenas/arena.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace terrace::memory {

namespace {

// Returns the pages of a slab: room for 32 blocks within 64 KiB, but at least 8 blocks and 4 pages.
std::uint64_t pages_of_slab(std::size_t block) {
  const auto bytes = std::max(std::min<std::size_t>(block * 32, 16 * k_page), block * 8);
  return std::max<std::uint64_t>(4, ceil_div(bytes, k_page));
}

// Returns the link of a free block to the next one, in its first word.
void*& next_of(void* block) { return *static_cast<void**>(block); }

}  // namespace

// Adds a slab with free blocks to the list from which allocate_batch() takes blocks.
void Arena::link(SlabLists& lists, PageRun* slab) noexcept {
  slab->previous = nullptr;
  slab->next = lists.partial;
  if (lists.partial) lists.partial->previous = slab;
  lists.partial = slab;
}

void Arena::unlink(SlabLists& lists, PageRun* slab) noexcept {
  if (slab->next) slab->next->previous = slab->previous;
  (slab->previous ? slab->previous->next : lists.partial) = slab->next;
}

// Allocates a slab of the class and lists it. Returns null if there is no memory.
PageRun* Arena::add_slab(std::size_t size_class) noexcept {
  auto* const slab = new (std::nothrow) PageRun;
  if (!slab) return nullptr;
  slab->block = size_of_class(size_class);
  slab->size_class = size_class;
  slab->pages = pages_of_slab(slab->block);
  // Blocks whose size is a power of two must lie at multiples of it: allocate() relies on that for alignment.
  const auto alignment = std::has_single_bit(slab->block) ? std::max<std::size_t>(slab->block / k_page, 1) : 1;
  slab->address = pages_.allocate(slab->pages, alignment, slab);
  if (slab->address == 0) {
    delete slab;
    return nullptr;
  }
  slab->blocks = static_cast<std::uint32_t>(slab->pages * k_page / slab->block);
  link(classes_[size_class], slab);
  return slab;
}

void Arena::drop(SlabLists& lists, PageRun* slab) noexcept {
  unlink(lists, slab);
  pages_.release(slab->address, slab->pages);
  delete slab;
}

std::size_t Arena::allocate_batch(std::size_t size_class, std::size_t count, void** list) noexcept {
  const std::lock_guard guard(mutex_);
  auto& lists = classes_[size_class];
  std::size_t got = 0;
  *list = nullptr;
  while (got < count) {
    auto* const slab = lists.partial ? lists.partial : add_slab(size_class);
    if (!slab) break;
    if (lists.empty == slab) lists.empty = nullptr;
    while (got < count && (slab->free || slab->fresh < slab->blocks)) {
      void* block = slab->free;
      if (block)
        slab->free = next_of(block);
      else
        block = reinterpret_cast<void*>(  // NOLINT(performance-no-int-to-ptr)
            slab->address + slab->fresh++ * slab->block);
      next_of(block) = *list;
      *list = block;
      ++slab->used;
      ++got;
    }
    if (!slab->free && slab->fresh == slab->blocks) unlink(lists, slab);
  }
  return got;
}

void Arena::release_batch(void* list) noexcept {
  const std::lock_guard guard(mutex_);
  while (list) {
    void* const block = list;
    list = next_of(block);
    auto* const slab = ExtentPages::run_of(block);
    auto& lists = classes_[slab->size_class];
    if (!slab->free && slab->fresh == slab->blocks) link(lists, slab);
    next_of(block) = slab->free;
    slab->free = block;
    if (--slab->used > 0) continue;
    if (lists.empty)
      drop(lists, slab);
    else
      lists.empty = slab;
  }
}

void* Arena::allocate_large(std::size_t size, std::size_t alignment) noexcept {
  auto* const run = new (std::nothrow) PageRun;
  if (!run) return nullptr;
  run->pages = ceil_div(size, k_page);
  run->block = run->pages * k_page;
  run->size_class = k_num_classes;
  {
    const std::lock_guard guard(mutex_);
    run->address = pages_.allocate(run->pages, std::max<std::size_t>(alignment / k_page, 1), run);
  }
  if (run->address != 0) return reinterpret_cast<void*>(run->address);  // NOLINT(performance-no-int-to-ptr)
  delete run;
  return nullptr;
}

void Arena::release_large(PageRun* run) noexcept {
  {
    const std::lock_guard guard(mutex_);
    pages_.release(run->address, run->pages);
  }
  delete run;
}

void Arena::purge() noexcept {
  const std::lock_guard guard(mutex_);
  for (auto& lists : classes_) {
    if (!lists.empty) continue;
    drop(lists, lists.empty);
    lists.empty = nullptr;
  }
  pages_.release_empty_extent();
}

}  // namespace terrace::memory
