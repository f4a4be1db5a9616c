// SPDX-License-Identifier: Apache-2.0
// Allocates large blocks from one reserved range of address space, in whole granules, for the agent's heaps. No
// two blocks share a page, so each can be placed and migrated without the data of another. Blocks of 2 MiB and
// more begin at a multiple of 2 MiB, so that huge pages fit.
//
// Addresses, relative to the base, depend on the history of calls alone (address-ordered first fit). A block that
// allocate() returns is all zeros and has no page: freed pages go back to the system, and so do the parts of huge
// pages that reached into free space. Metadata lie outside the blocks. Thread-safe.
//
// retain() frees a block but keeps its pages, for reuse() to return: programs that allocate a large block in each
// iteration would otherwise fault all its pages in each time. The C library keeps as much (mallopt(3),
// M_MMAP_THRESHOLD and M_TRIM_THRESHOLD).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "core/units.hpp"
#include "memory/free_ranges.hpp"

namespace terrace::memory {

class RegionSpace {
 public:
  struct Block {
    std::uint64_t address = 0;
    std::uint64_t size = 0;  // whole granules
  };
  // Limits of retained blocks: DEFAULT_MMAP_THRESHOLD_MAX of glibc, twice that for all, and a number for searches.
  static constexpr std::uint64_t k_max_retained_block = 32ULL << 20;
  static constexpr std::uint64_t k_max_retained = 2 * k_max_retained_block;
  static constexpr std::size_t k_max_retained_blocks = 64;

  // Reserves `reserve` bytes of address space without using memory. Halves the size until the system allows it and
  // the program keeps its share of the address space (core/address_space.hpp). Below 64 MiB the space stays empty
  // and every allocation fails.
  explicit RegionSpace(Bytes reserve = Bytes{1ULL << 40}, Bytes granule = Bytes{4096});
  ~RegionSpace();
  RegionSpace(const RegionSpace&) = delete;
  RegionSpace& operator=(const RegionSpace&) = delete;

  // Allocates `size` bytes, rounded up to granules; `alignment` is a power of two. Returns nullptr if there is no
  // address space or no memory left.
  void* allocate(std::size_t size, std::size_t alignment = 1) noexcept;
  // Frees the block that begins at `address` and returns its size; 0 if no block begins there.
  std::size_t release(void* address) noexcept;
  // Frees the block that begins at `address` but keeps its pages, and releases those of the blocks retained
  // longest beyond the limits. Larger blocks are released. Returns the size; 0 if no block begins there.
  std::size_t retain(void* address) noexcept;
  // Returns the block of that size in granules that was retained last; it has old contents and pages. Returns
  // nullptr if there is no such block with that alignment.
  void* reuse(std::size_t size, std::size_t alignment = 1) noexcept;
  // Frees the granules of [address, address + size), of whichever blocks they are part. What is left of a block
  // remains a block. Requires: address and size are whole granules.
  void release_part(std::uint64_t address, std::uint64_t size) noexcept;
  // Allocates a block of whole granules at `address`. Returns false, and changes nothing, if one of them is in
  // use.
  bool allocate_at(std::uint64_t address, std::uint64_t size) noexcept;
  // Resizes the block in place. Returns false, and changes nothing, if the space behind it is in use.
  bool resize(void* address, std::size_t size) noexcept;

  // Ends allocation and unmaps the free space; blocks that are freed later are unmapped, too. Other code may map
  // memory there from then on.
  void retire() noexcept;

  // Returns whether the address is in the reserved range. Lock-free.
  [[nodiscard]] bool contains(const void* address) const noexcept {
    return reinterpret_cast<std::uint64_t>(address) - base_ < reserved_.load(std::memory_order_relaxed);
  }
  // Returns the block that contains the address; size 0 if none does.
  [[nodiscard]] Block find(const void* address) const noexcept;
  [[nodiscard]] std::uint64_t base() const { return base_; }
  [[nodiscard]] Bytes reserved() const { return Bytes{reserved_}; }
  [[nodiscard]] Bytes in_use() const noexcept;

  // Lock and unlock around fork(2), so that no other thread is inside during the copy.
  void lock() const { mutex_.lock(); }
  void unlock() const { mutex_.unlock(); }

 private:
  bool make_accessible(std::uint64_t end);
  void unmap_above(std::uint64_t end);
  void drop_pages(std::uint64_t offset, std::uint64_t size);
  void drop_shared_huge_pages(std::uint64_t offset, std::uint64_t size);
  void release_pages(std::uint64_t offset, std::uint64_t size);
  std::optional<Block> remove_block(void* address) noexcept;
  void release_block(std::uint64_t offset, std::uint64_t size);
  void release_retained(std::uint64_t max_bytes, std::size_t max_blocks);
  [[nodiscard]] std::optional<std::uint64_t> find_space(std::uint64_t length, std::uint64_t boundary);

  mutable std::mutex mutex_;
  std::uint64_t mapped_ = 0;  // start of the mapping; base_ is this, aligned to 2 MiB
  std::uint64_t mapped_size_ = 0;
  std::uint64_t base_ = 0;
  std::atomic<std::uint64_t> reserved_{0};
  std::uint64_t granule_ = 0;
  std::uint64_t accessible_ = 0;  // bytes from the base on with access rights
  std::uint64_t in_use_ = 0;
  bool is_retired_ = false;
  FreeRanges free_;                                // in bytes from the base
  std::map<std::uint64_t, std::uint64_t> blocks_;  // offset -> size
  // Freed blocks with pages, in neither of the above; from the one retained longest on. Address: the offset.
  std::vector<Block> retained_;
  std::uint64_t retained_bytes_ = 0;
};

}  // namespace terrace::memory
