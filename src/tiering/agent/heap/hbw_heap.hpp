// SPDX-License-Identifier: Apache-2.0
// Implements memkind's hbwmalloc policies on an OrderedHeap, for api/hbw_api.cpp. "High bandwidth" places
// (memories of the machine) are those that rank before the home place in the ordering by bandwidth (strictly
// faster, no tie), or those that the user names. A machine may have none.
//
// Blocks are placed when they are allocated. The policies bind, bind_all and interleave are strict: allocation
// fails if their places are full. Thread-safe.
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

// Returns the places that are faster than the domain's home, in the order of the bandwidth ordering.
std::vector<PlaceId> faster_than_home(const machine::Machine& machine, DomainId domain);

// Result of verify_pages: all pages are on fast nodes; some are on others; some are not mapped.
enum class PageVerdict : std::uint8_t { fast, other, not_mapped };
// Checks the NUMA nodes of the resident pages of [address, address + size). `touch` populates absent pages first,
// like a write that changes nothing (MADV_POPULATE_WRITE).
PageVerdict verify_pages(std::uint64_t address, std::size_t size, bool touch, std::span<const int> nodes) noexcept;

class HbwHeap {
 public:
  enum class Policy : std::uint8_t { bind, bind_all, preferred, interleave };

  // `nodes`: operating system nodes that replace the detected ones. Borrows the heap; at most one HbwHeap for each
  // heap. Throws std::bad_alloc.
  HbwHeap(OrderedHeap& heap, const std::optional<std::vector<int>>& nodes);
  HbwHeap(const HbwHeap&) = delete;
  HbwHeap& operator=(const HbwHeap&) = delete;

  // Returns the fast places, nearest first. If there are none, only Policy::preferred succeeds, with plain memory.
  [[nodiscard]] const std::vector<PlaceId>& fast() const noexcept { return fast_; }

  [[nodiscard]] std::span<const int> fast_nodes() const noexcept { return fast_nodes_; }

  // Returns null if the policy's places are full.
  void* allocate(Policy policy, std::size_t size, std::size_t alignment, bool zeros) noexcept;
  // Allocates hugetlb pages of `page` bytes (2 MiB or 1 GiB) from the system's pool.
  void* allocate_pages(Policy policy, std::size_t size, std::size_t alignment, std::size_t page) noexcept;
  // Returns false, without effect, if the block is not of this heap.
  bool release(void* block) noexcept;
  // Returns 0 if the block is not of this heap.
  [[nodiscard]] std::size_t size_of(const void* block) const noexcept;

  // For fork(2). Lock order: before the ordered heap's locks.
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
  std::uint64_t max_size_ = 0;  // total capacity of all places, bytes
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Pages> pages_;  // hugetlb blocks, by address
  std::atomic<std::size_t> pages_count_{0};
};

}  // namespace terrace::agent
