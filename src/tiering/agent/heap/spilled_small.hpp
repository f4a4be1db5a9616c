// Small blocks over a file: an arena (memory/arenas/block_arena.hpp) whose extents are chunks of a spilled heap.
// They come from pools of many chunks, so that what is used in no order can be given to the kernel's own paging.
// Whose a block is follows from its address, without a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "agent/heap/spilled_heap.hpp"
#include "memory/arenas/block_arena.hpp"

namespace terrace::agent {

class SpilledSmall final : public memory::BlockArena::ExtentSource {
 public:
  static constexpr std::size_t k_largest = memory::BlockArena::k_max_block_size;
  // In resident memory, as a share of what is allowed: small blocks lie over the file from then on. Before, chunks
  // of their own cost a process more than they can win.
  static constexpr std::uint64_t k_resident_divisor = 4;

  // There is one in a process.
  explicit SpilledSmall(SpilledHeap& heap) noexcept;
  SpilledSmall(const SpilledSmall&) = delete;
  SpilledSmall& operator=(const SpilledSmall&) = delete;

  [[nodiscard]] static bool fits(std::size_t size, std::size_t alignment) noexcept {
    return size > 0 && size <= k_largest && alignment <= k_largest;
  }
  // Of a size that fits. Null where there is no memory.
  void* allocate(std::size_t size, std::size_t alignment, bool zeros) noexcept;
  // Whether the block is one of these.
  [[nodiscard]] bool contains(const void* block) const noexcept {
    return table_ && heap_.overlaps(block, 1) &&
           entry(reinterpret_cast<std::uint64_t>(block)).load(std::memory_order_relaxed);
  }
  // Of a block of these; in children of fork, too.
  static void release(void* block) noexcept { memory::BlockArena::release(k_number, block); }
  [[nodiscard]] static std::size_t size_of(const void* block) noexcept {
    return memory::BlockArena::size_of(block);
  }

  // Around fork, behind the arenas and before the heap.
  void lock() const noexcept { mutex_.lock(); }
  void unlock() const noexcept { mutex_.unlock(); }

 private:
  static constexpr std::size_t k_extent = memory::BlockArena::k_extent_size;
  static_assert(k_extent == SpilledHeap::k_granule);

  static constexpr unsigned k_number = memory::BlockArena::k_max_arenas - 1;  // no ordering has it

  [[nodiscard]] std::atomic<bool>& entry(std::uint64_t address) const noexcept {
    return table_[(address - heap_.base()) / k_extent];
  }
  bool add_pool() noexcept;
  void* allocate_extent(std::size_t) noexcept override;
  void release_extent(void* address, std::size_t size) noexcept override;

  SpilledHeap& heap_;
  mutable std::mutex mutex_;            // before the heap's
  std::atomic<bool>* table_ = nullptr;  // of each chunk of the heap: an extent is there; null: there is none
  std::vector<std::uint64_t> free_;     // extents that may be handed out, the lowest last
};

}  // namespace terrace::agent
