// SPDX-License-Identifier: Apache-2.0
// Allocates out-of-core ("spilled") blocks and mappings, which may exceed RAM: each chunk is in memory or in a
// backing file (transfer/spill/spill_engine.hpp). Used by the interposed malloc and mmap in runs with --memory.
//
// A mapping has chunks of its own and is tracked to the page, because the program may unmap, protect, discard or
// map over any part of it. If it maps a file or shared memory there, the engine stops managing the affected chunks
// ("handed over") until nothing in them is mapped.
//
// Implementation: spilled_heap.cpp manages blocks and chunks, spilled_mappings.cpp emulates the system calls.
// Thread-safe.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>

#include "agent/heap/free_block_cache.hpp"
#include "agent/heap/mapped_ranges.hpp"
#include "core/big_block.hpp"
#include "memory/region_space.hpp"
#include "transfer/spill/spill_engine.hpp"

namespace terrace::agent {

class SpilledHeap {
 public:
  // Smaller blocks come from the next allocator, because a block has chunks of its own.
  static constexpr std::size_t k_min = k_big_block;

  static constexpr std::size_t k_granule = transfer::SpillEngine::k_chunk;  // granularity of sizes

  static constexpr std::size_t k_at_once = transfer::SpillEngine::k_at_once;

  // Returns how much data memory and disk can hold, limited so that address space remains for other uses.
  [[nodiscard]] static constexpr Bytes max_data(Bytes memory, Bytes disk) noexcept {
    constexpr std::uint64_t k_max = 16ULL << 40;
    return Bytes{std::min(memory.value, k_max) + std::min(disk.value, k_max)};
  }
  // Reserves `reserve` bytes of address space, or less if the system has less. `parts` need no base and size.
  // Calls `on_refused` for each block that does not fit. Throws Error{failed}, as the engine does.
  SpilledHeap(Bytes reserve, transfer::SpillEngine::Parts parts,
              void (*on_refused)(std::size_t, std::size_t) = nullptr);

  // Returns zeroed memory, or without `zeros` possibly the contents of a freed block. Returns null if there is no
  // capacity: the caller then uses the next allocator.
  void* allocate(std::size_t size, std::size_t alignment, bool zeros = true) noexcept;
  // Allocates zeroed memory to be subdivided by the caller. Does not report a lack of capacity.
  void* allocate_pool(std::size_t size) noexcept {
    return allocate_chunks(size, k_granule, MappedRanges::Kind::block, size, false);
  }
  // Sets a plan's preference for the block until it is released. Growth of the block is not covered.
  void set_preference(const void* block, transfer::Preference preference) noexcept;
  // Extends the block in place. Returns false, without effect, if the addresses behind it are in use.
  bool grow(void* block, std::size_t size) noexcept;
  // Truncates the block in place. Returns false, without effect, if the new size is too small for a block here.
  bool shrink(void* block, std::size_t size) noexcept;
  // Returns false, without effect, if the block is not of this heap.
  bool release(void* block) noexcept;
  // Returns whether no block or foreign mapping can begin there: the address is inside a block or free. Always
  // false in a child of fork(2).
  [[nodiscard]] bool is_invalid_block(const void* address) const noexcept;
  // Returns the size of the block that begins there, or 0: pointers into a mapping may come from an allocator of
  // the program.
  [[nodiscard]] std::size_t size_of(const void* block) const noexcept;

  // For fork(2). The child gets a copy of the contents; chunks at the addresses `at_once` are there when it
  // starts.
  void before_fork(std::span<const std::uint64_t> at_once) noexcept;
  void after_fork() noexcept;
  void in_child() noexcept;

  // Records that the program has locked some of the memory (mlock).
  void note_locked() noexcept { locks_.store(true, std::memory_order_relaxed); }

  // Pins the pages of the range, which a device will access by itself: they become resident and stay so until the
  // block is released. Has no effect on ranges that are not entirely managed here.
  void pin(const void* address, std::size_t size) noexcept;

  [[nodiscard]] std::uint64_t base() const noexcept { return space_.base(); }
  [[nodiscard]] Bytes reserved() const noexcept { return space_.reserved(); }
  // Returns false in a child of fork(2), whose memory the kernel manages.
  [[nodiscard]] bool is_owner_process() const noexcept;
  // Return whether the address is in this heap's address space, or the range overlaps it. Lock-free.
  [[nodiscard]] bool contains(const void* address) const noexcept { return space_.contains(address); }
  [[nodiscard]] bool overlaps(const void* address, std::size_t size) const noexcept;

  // Returns whether an mmap(2) call with these arguments is to be served by map().
  [[nodiscard]] static bool accepts_mapping(std::size_t length, int protection, int flags) noexcept;

  // Emulate the system calls of the same names for ranges that overlap the heap. Return 0 or an errno value. map()
  // returns null if there is no capacity: the caller then uses the kernel's.
  void* map(std::size_t length) noexcept;
  int unmap(void* address, std::size_t length) noexcept;
  int protect(void* address, std::size_t length, int protection) noexcept;
  int advise(void* address, std::size_t length, int advice) noexcept;
  // Emulates mmap(2) with MAP_FIXED.
  int map_over(void* address, std::size_t length, int protection, int flags, int file, off_t offset) noexcept;
  // Emulates mremap(2) of a range that begins in this heap. Sets `address` to the new address.
  int remap(void*& address, std::size_t old_length, std::size_t length, int flags) noexcept;
  // Emulates mremap(2) of foreign memory to a fixed address that overlaps this heap.
  int remap_over(void* address, std::size_t old_length, std::size_t length, int flags, void* to) noexcept;

 private:
  void lock() const;
  void unlock() const;

  using Kind = MappedRanges::Kind;
  struct Span {  // of addresses
    std::uint64_t start = 0, end = 0;
    [[nodiscard]] bool is_empty() const noexcept { return start >= end; }
  };

  [[nodiscard]] Span clip(std::uint64_t start, std::uint64_t end) const noexcept;
  [[nodiscard]] Span whole_chunks(Span span) const noexcept;
  [[nodiscard]] memory::RegionSpace::Block block_at(const void* address) const noexcept;
  [[nodiscard]] bool is_taken(std::uint64_t chunk) const noexcept;
  [[nodiscard]] bool is_memory_scarce() const noexcept;
  [[nodiscard]] bool is_cacheable(const memory::RegionSpace::Block& block) const;
  void release_now(std::uint64_t address, std::uint64_t size) noexcept;
  void* take_cached(std::size_t size, std::size_t alignment) noexcept;
  void* allocate_chunks(std::size_t size, std::size_t alignment, Kind kind, std::size_t length,
                        bool reports = true) noexcept;
  void release_chunks(Span chunks) noexcept;
  void release_empty_chunks(Span span) noexcept;
  bool enable_access(Span chunks) noexcept;
  void disable_access(Span chunks) noexcept;
  bool claim(std::uint64_t start, std::uint64_t size) noexcept;
  bool claim_free(Span span) noexcept;
  void make_zero(Span span);
  void clear(Span span);
  void apply_rights(Span span);
  void apply_all_rights() noexcept;
  void set_rights(Span span, int protection);
  void report_default_rights(Span span);
  void hand_over(Span span);
  void hand_over_with_content(Span span);
  void set_mapping(Span span, int protection, Kind kind);
  template <class Body>
  int for_each_run(Span span, Body&& body);
  template <class Body>
  int for_parts_outside(Span span, Body&& body) const;
  void unmap_now(Span span);
  int advise_now(Span span, int advice);
  int map_zeros_over(Span span, int protection);
  bool grow_in_place(Span old, std::uint64_t end, int protection);
  int move_mapping(void*& address, Span old, std::size_t length, int protection);

  memory::RegionSpace space_;
  const transfer::SpillCounts* counts_;
  std::uint64_t max_cached_;  // bytes
  std::unique_ptr<transfer::SpillEngine> spill_;
  void (*on_refused_)(std::size_t size, std::size_t alignment);
  pid_t process_;
  bool is_copy_ = false;  // in a child of fork(2). Kept here because a system call filter might forbid getpid(2)
  std::atomic<bool> locks_{false};  // some memory was locked by mlock
  mutable std::mutex mutex_;        // lock order: before the space's
  FreeBlockCache cache_;
  bool protects_ = false;                // some protection differs from the default
  MappedRanges ranges_;                  // in use by the program
  MappedRanges inaccessible_;            // free chunks that were used before; PROT_NONE
  std::set<std::uint64_t> handed_over_;  // addresses of chunks that contain foreign mappings
};

}  // namespace terrace::agent
