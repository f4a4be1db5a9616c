// SPDX-License-Identifier: Apache-2.0
// Allocates small blocks of spilled memory for the interposed malloc family, in runs with --memory: an arena
// (memory/arenas/block_arena.hpp) whose extents are chunks of a SpilledHeap. Extents come from pools of many
// chunks, so that blocks with irregular access can be handed over to kernel paging as one range. A table by chunk
// identifies blocks from their address, without a lock.
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
  // Small blocks are spilled once the process's resident memory reaches 1/k_resident_divisor of its limit. Below
  // that, separate chunks cost more than they can save.
  static constexpr std::uint64_t k_resident_divisor = 4;

  // At most one instance in a process.
  explicit SpilledSmall(SpilledHeap& heap) noexcept;
  SpilledSmall(const SpilledSmall&) = delete;
  SpilledSmall& operator=(const SpilledSmall&) = delete;

  [[nodiscard]] static bool fits(std::size_t size, std::size_t alignment) noexcept {
    return size > 0 && size <= k_largest && alignment <= k_largest;
  }
  // Requires: fits(size, alignment). Returns null if there is no memory.
  void* allocate(std::size_t size, std::size_t alignment, bool zeros) noexcept;
  // Returns whether the block is from here.
  [[nodiscard]] bool contains(const void* block) const noexcept {
    return table_ && heap_.contains(block) &&
           entry(reinterpret_cast<std::uint64_t>(block)).load(std::memory_order_relaxed);
  }
  // Requires: contains(block). Also valid in children of fork(2).
  static void release(void* block) noexcept { memory::BlockArena::release(k_number, block); }
  [[nodiscard]] static std::size_t size_of(const void* block) noexcept {
    return memory::BlockArena::size_of(block);
  }

  // For fork(2). Lock order: after the arenas, before the heap.
  void lock() const noexcept { mutex_.lock(); }
  void unlock() const noexcept { mutex_.unlock(); }

 private:
  static constexpr std::size_t k_extent = memory::BlockArena::k_extent_size;
  static_assert(k_extent == SpilledHeap::k_granule);

  static constexpr unsigned k_number =
      memory::BlockArena::k_max_arenas - 1;  // the arena number that no ordering uses

  [[nodiscard]] std::atomic<bool>& entry(std::uint64_t address) const noexcept {
    return table_[(address - heap_.base()) / k_extent];
  }
  bool add_pool() noexcept;
  void* allocate_extent(std::size_t) noexcept override;
  void release_extent(void* address, std::size_t size) noexcept override;

  SpilledHeap& heap_;
  mutable std::mutex mutex_;  // lock order: before the heap's
  std::atomic<bool>* table_ =
      nullptr;  // by chunk of the heap: it is an allocated extent; null: the arena could not be made
  std::vector<std::uint64_t> free_;  // free extents in descending order
};

}  // namespace terrace::agent
