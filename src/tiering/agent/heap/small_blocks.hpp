// SPDX-License-Identifier: Apache-2.0
// Allocates small blocks by intent, from one arena (memory/arenas/block_arena.hpp) for each ordering of an
// OrderedHeap. The heap places an extent when the arena obtains it. A table indexed by extent gives the ordering
// of a block from its address in constant time. Called by the interposed malloc family. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "memory/arenas/block_arena.hpp"
#include "memory/region_space.hpp"

namespace terrace::agent {

class OrderedHeap;

class SmallBlocks {
 public:
  // Larger blocks get pages of their own from the OrderedHeap.
  static constexpr std::size_t k_largest = memory::BlockArena::k_max_block_size;

  explicit SmallBlocks(OrderedHeap& heap) : heap_(heap) {}
  SmallBlocks(const SmallBlocks&) = delete;
  SmallBlocks& operator=(const SmallBlocks&) = delete;

  // Returns whether blocks of this size and alignment are served here.
  [[nodiscard]] static bool fits(std::size_t size, std::size_t alignment) noexcept {
    return size > 0 && size <= k_largest && alignment <= k_largest;
  }
  // Requires: fits(size, alignment). Returns null if memory is short or the ordering has no arena.
  void* allocate(std::size_t size, std::size_t alignment, int order, bool zeros) noexcept;
  // Returns whether the address is in the reserved address space. Takes no lock.
  [[nodiscard]] bool contains_address(const void* address) const noexcept {
    const auto* const here = space_.load(std::memory_order_acquire);
    return here && here->contains(address);
  }
  // Returns the ordering of the block, or -1 if the block is not from here. Takes no lock.
  [[nodiscard]] int order_of(const void* block) const noexcept {
    const auto* const here = space_.load(std::memory_order_acquire);
    return here && here->contains(block) ? order_at(here->base(), block) : -1;
  }
  // Requires: order_of(block) == order.
  static void release(int order, void* block) noexcept {
    memory::BlockArena::release(static_cast<unsigned>(order), block);
  }
  static std::size_t size_of(const void* block) noexcept { return memory::BlockArena::size_of(block); }

  // Returns free extents to the heap.
  void purge() noexcept;
  // Stops obtaining and returning extents.
  void shut_down() noexcept { is_shut_down_.store(true); }

  // For fork(2). Lock order: after the arenas' locks.
  void lock() const noexcept;
  void unlock() const noexcept;

 private:
  static constexpr std::size_t k_extent = memory::BlockArena::k_extent_size;
  static constexpr std::size_t k_orders =
      memory::BlockArena::k_max_arenas - 1;  // the last arena is SpilledSmall's
  struct Source final : memory::BlockArena::ExtentSource {
    void* allocate_extent(std::size_t size) noexcept override { return owner->obtain(size, order); }
    void release_extent(void* address, std::size_t size) noexcept override { owner->give_back(address, size); }
    SmallBlocks* owner = nullptr;
    int order = 0;
  };

  [[nodiscard]] int order_at(std::uint64_t base, const void* block) const noexcept {
    const auto extent = (reinterpret_cast<std::uint64_t>(block) - base) / k_extent;
    return static_cast<int>(orders_[extent].load(std::memory_order_relaxed)) - 1;
  }
  bool create_arena(int order) noexcept;
  bool reserve() noexcept;
  void* obtain(std::size_t size, int order) noexcept;
  void give_back(void* address, std::size_t size) noexcept;

  OrderedHeap& heap_;
  std::atomic<bool> is_shut_down_{false};
  mutable std::mutex mutex_;                                       // guards the creation of arenas
  std::array<std::atomic<std::int8_t>, k_orders> arena_states_{};  // 1: created, -1: failed
  std::array<Source, k_orders> sources_;
  std::optional<memory::RegionSpace> reserved_;
  std::atomic<const memory::RegionSpace*> space_{nullptr};  // &*reserved_ once it has address space
  std::atomic<std::uint8_t>* orders_ = nullptr;             // ordering + 1, by extent; 0: free
};

}  // namespace terrace::agent
