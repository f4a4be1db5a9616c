// Small blocks by intent: one arena (memory/arenas/block_arena.hpp) for each ordering of an ordered heap, whose
// extents the heap places at once. Whose a block is, and of which ordering, is found from its address in one step.
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
  // Larger ones have pages of their own.
  static constexpr std::size_t k_largest = memory::BlockArena::k_max_block_size;

  explicit SmallBlocks(OrderedHeap& heap) : heap_(heap) {}
  SmallBlocks(const SmallBlocks&) = delete;
  SmallBlocks& operator=(const SmallBlocks&) = delete;

  // Whether a block of this size and alignment can be one of these.
  [[nodiscard]] static bool fits(std::size_t size, std::size_t alignment) noexcept {
    return size > 0 && size <= k_largest && alignment <= k_largest;
  }
  // Of a size that fits. Null where there is no memory, or the ordering has no arena.
  void* allocate(std::size_t size, std::size_t alignment, int order, bool zeros) noexcept;
  // Whether the address is in their address space. Takes no lock.
  [[nodiscard]] bool contains_address(const void* address) const noexcept {
    const auto* const here = space_.load(std::memory_order_acquire);
    return here && here->contains(address);
  }
  // The ordering of the block; -1: it is none of these.
  [[nodiscard]] int order_of(const void* block) const noexcept {
    const auto* const here = space_.load(std::memory_order_acquire);
    return here && here->contains(block) ? order_at(here->base(), block) : -1;
  }
  // Of a block of that ordering.
  static void release(int order, void* block) noexcept {
    memory::BlockArena::release(static_cast<unsigned>(order), block);
  }
  static std::size_t size_of(const void* block) noexcept { return memory::BlockArena::size_of(block); }

  // Extents that are free are nobody's any more.
  void purge() noexcept;
  // No extents come or go any more.
  void shut_down() noexcept { is_shut_down_.store(true); }

  // Around fork, behind the arenas.
  void lock() const noexcept;
  void unlock() const noexcept;

 private:
  static constexpr std::size_t k_extent = memory::BlockArena::k_extent_size;
  static constexpr std::size_t k_orders = memory::BlockArena::k_max_arenas - 1;  // the last is memory over a file
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
  mutable std::mutex mutex_;                                       // of beginning
  std::array<std::atomic<std::int8_t>, k_orders> arena_states_{};  // 1: yes, -1: in vain
  std::array<Source, k_orders> sources_;
  std::optional<memory::RegionSpace> reserved_;
  std::atomic<const memory::RegionSpace*> space_{nullptr};  // it, once there is some
  std::atomic<std::uint8_t>* orders_ = nullptr;             // of each extent, plus 1
};

}  // namespace terrace::agent
