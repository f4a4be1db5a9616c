// Memory as memkind's hbwmalloc interface speaks of it, on an ordered heap: "high bandwidth" are the places that
// stand before the home place in the ordering by bandwidth, that is, are faster beyond a tie; or those that the
// user names. On a machine without such places there is none.
//
// Blocks are placed when they are allocated. bind and bind_all are strict; interleave is, too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "agent/heap/ordered_heap.hpp"

namespace terrace::agent {

// Those of a domain that are faster than its home; of several in the ordering's order.
std::vector<PlaceId> faster_than_home(const machine::Machine& machine, DomainId domain);

// Whether the pages of [address, address + size) are there, and on these nodes. `touch`: those that are not there
// come first, as by a write that changes nothing.
enum class PageVerdict : std::uint8_t { fast, other, not_mapped };
PageVerdict verify_pages(std::uint64_t address, std::size_t size, bool touch, std::span<const int> nodes) noexcept;

class HbwHeap {
 public:
  enum class Policy : std::uint8_t { bind, bind_all, preferred, interleave };

  // `nodes`: of the operating system, instead of those that are found. The heap lives as long as this; one of
  // these for each. Throws std::bad_alloc.
  HbwHeap(OrderedHeap& heap, const std::optional<std::vector<int>>& nodes);
  HbwHeap(const HbwHeap&) = delete;
  HbwHeap& operator=(const HbwHeap&) = delete;

  // The fast places, nearest first; none: only preferred() serves, and plain memory is all there is.
  [[nodiscard]] const std::vector<PlaceId>& fast() const noexcept { return fast_; }

  [[nodiscard]] std::span<const int> fast_nodes() const noexcept { return fast_nodes_; }

  // Null where the policy has no room.
  void* allocate(Policy policy, std::size_t size, std::size_t alignment, bool zeros) noexcept;
  // In pages of 2 MiB or 1 GiB of the system's pool.
  void* allocate_pages(Policy policy, std::size_t size, std::size_t alignment, std::size_t page) noexcept;
  // False: it is none of these blocks.
  bool release(void* block) noexcept;
  // 0: it is none of these blocks.
  [[nodiscard]] std::size_t size_of(const void* block) const noexcept;

  // Around fork(2), before the heap's.
  void lock() const noexcept { mutex_.lock(); }
  void unlock() const noexcept { mutex_.unlock(); }

 private:
  struct Pages {
    std::uint64_t mapped = 0, mapped_size = 0;
    std::size_t size = 0;
  };
  [[nodiscard]] int order_of(Policy policy) const noexcept { return orders_[static_cast<std::size_t>(policy)]; }
  [[nodiscard]] int bind_pages(std::uint64_t address, std::size_t size, Policy policy) const noexcept;

  OrderedHeap& heap_;
  std::vector<PlaceId> fast_;
  std::vector<int> fast_nodes_;
  std::vector<PlaceId> nearest_;
  int orders_[4] = {-1, -1, -1, -1};
  std::uint64_t max_size_ = 0;  // bytes of all places
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Pages> pages_;  // of pools, by the block's address
  std::atomic<std::size_t> pages_count_{0};
};

}  // namespace terrace::agent
