// Blocks of memory, and mappings, that may be larger than RAM: their chunks are in memory or in a file
// (transfer/spill/spill_engine.hpp).
//
// A mapping has whole chunks of its own, and is known to the page: any part of it may be unmapped, get other
// rights, be given back, or be replaced by something else that the program maps. Where that is not ours (a file,
// shared memory) the chunks that hold it are left to the program until nothing of theirs is mapped any more.
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
  // Smaller blocks are left to the next allocator: a block has chunks of its own.
  static constexpr std::size_t k_min = k_big_block;

  static constexpr std::size_t k_granule = transfer::SpillEngine::k_chunk;  // sizes are multiples of it

  static constexpr std::size_t k_at_once = transfer::SpillEngine::k_at_once;

  // As much data as memory and disk hold; but no more than leaves the program address space for other things.
  [[nodiscard]] static constexpr Bytes max_data(Bytes memory, Bytes disk) noexcept {
    constexpr std::uint64_t k_max = 16ULL << 40;
    return Bytes{std::min(memory.value, k_max) + std::min(disk.value, k_max)};
  }
  // At most `reserve` bytes of blocks; less where the system has less address space. `parts` without base and
  // size. `on_refused` is called for each block that there is no room for. Throws Error{failed}, as the engine does.
  SpilledHeap(Bytes reserve, transfer::SpillEngine::Parts parts,
              void (*on_refused)(std::size_t, std::size_t) = nullptr);

  // Zeros, or what a block had that was freed lately; nullptr where there is no room: the caller asks the next
  // allocator.
  void* allocate(std::size_t size, std::size_t alignment, bool zeros = true) noexcept;
  // Zeros in any case, for blocks within it. Nobody is told where there is no room.
  void* allocate_pool(std::size_t size) noexcept {
    return allocate_chunks(size, k_granule, MappedRanges::Kind::block, size, false);
  }
  // What a plan says of the block, until it is released; not of what it grows by.
  void set_preference(const void* block, transfer::Preference preference) noexcept;
  // The block becomes longer where it is. False, and nothing happened, where something is behind it.
  bool grow(void* block, std::size_t size) noexcept;
  // What lies behind its new end is free. False, and nothing happened, where that would be no block of this size.
  bool shrink(void* block, std::size_t size) noexcept;
  // False, and nothing happened, where it is none of these blocks.
  bool release(void* block) noexcept;
  // Whether nothing can begin there: it is within a block, or what the program had there is free. Not in a child
  // of fork(2).
  [[nodiscard]] bool is_invalid_block(const void* address) const noexcept;
  // The size of the block that begins there; 0 where none does: what an allocator of the program's hands out may
  // be a part of a mapping.
  [[nodiscard]] std::size_t size_of(const void* block) const noexcept;

  // Around fork: the child has a copy of the content; what is at the addresses from its first moment on.
  void before_fork(std::span<const std::uint64_t> at_once) noexcept;
  void after_fork() noexcept;
  void in_child() noexcept;

  // The program locks some of it.
  void note_locked() noexcept { locks_.store(true, std::memory_order_relaxed); }

  // A device will hold the pages of the range by itself: they are there, and stay until the block is released.
  // Nothing happens to what is not all ours.
  void pin(const void* address, std::size_t size) noexcept;

  [[nodiscard]] std::uint64_t base() const noexcept { return space_.base(); }
  [[nodiscard]] Bytes reserved() const noexcept { return space_.reserved(); }
  // In a child of fork(2) it is not: what is mapped there is the kernel's business.
  [[nodiscard]] bool is_owner_process() const noexcept;
  // Whether some of the range may be ours.
  [[nodiscard]] bool overlaps(const void* address, std::size_t size) const noexcept;

  // Whether mmap(2) of these is for map().
  [[nodiscard]] static bool accepts_mapping(std::size_t length, int protection, int flags) noexcept;

  // As the calls of the same names do it, for ranges that meet ours: 0, or an errno value. nullptr where there is
  // no room: the caller asks the kernel.
  void* map(std::size_t length) noexcept;
  int unmap(void* address, std::size_t length) noexcept;
  int protect(void* address, std::size_t length, int protection) noexcept;
  int advise(void* address, std::size_t length, int advice) noexcept;
  // mmap with MAP_FIXED.
  int map_over(void* address, std::size_t length, int protection, int flags, int file, off_t offset) noexcept;
  // mremap of what begins in ours; `address` becomes where it is then.
  int remap(void*& address, std::size_t old_length, std::size_t length, int flags) noexcept;
  // mremap of something else to an address where ours may be.
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
  bool is_copy_ = false;            // in a child of fork(2); known without a call, which a filter may kill for
  std::atomic<bool> locks_{false};  // something has been locked
  mutable std::mutex mutex_;        // before the space's own
  FreeBlockCache cache_;
  bool protects_ = false;                // rights to some of it have changed
  MappedRanges ranges_;                  // the program's
  MappedRanges inaccessible_;            // free chunks that were used: nobody may touch them
  std::set<std::uint64_t> handed_over_;  // chunks, by address, of which a part is something else
};

}  // namespace terrace::agent
