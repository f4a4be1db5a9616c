// SPDX-License-Identifier: Apache-2.0
// Implements the heap of small out-of-core blocks, which the interposed malloc() uses: an arena whose extents come
// from pools of spilled chunks. See spilled_small.hpp.
#include "agent/heap/spilled_small.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <new>

namespace terrace::agent {

namespace {

// Size of a pool, the unit that is handed over to kernel paging. Smaller if the heap has little address space.
constexpr std::size_t k_pool = std::size_t{64} << 20;
constexpr std::size_t k_share = 16;

}  // namespace

SpilledSmall::SpilledSmall(SpilledHeap& heap) noexcept : heap_(heap) {
  // Bare system call: mmap() is interposed.
  const auto table = ::syscall(SYS_mmap, 0L, heap_.reserved().value / k_extent + 1, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  if (table != -1 && memory::BlockArena::create(k_number, *this))
    table_ = reinterpret_cast<std::atomic<bool>*>(table);  // NOLINT(performance-no-int-to-ptr)
}

void* SpilledSmall::allocate(std::size_t size, std::size_t alignment, bool zeros) noexcept {
  return table_ ? memory::BlockArena::allocate(k_number, size, alignment, zeros) : nullptr;
}

// Requires: mutex_ is held.
bool SpilledSmall::add_pool() noexcept {
  auto size = std::bit_floor(std::clamp<std::size_t>(heap_.reserved().value / k_share, k_extent, k_pool));
  void* got = heap_.allocate_pool(size);
  for (; !got && size > k_extent; got = heap_.allocate_pool(size)) size /= 2;
  if (!got) return false;
  const auto base = reinterpret_cast<std::uint64_t>(got);
  try {
    free_.reserve(free_.size() + size / k_extent);
  } catch (const std::bad_alloc&) {
    heap_.release(got);
    return false;
  }
  for (auto at = base + size; at > base; at -= k_extent) free_.push_back(at - k_extent);
  return true;
}

// Returns a free extent to the arena, from a new pool if necessary; null without memory.
void* SpilledSmall::allocate_extent(std::size_t) noexcept {
  if (!heap_.is_owner_process()) return nullptr;
  const std::lock_guard guard(mutex_);
  if (free_.empty() && !add_pool()) return nullptr;
  const auto extent = free_.back();
  free_.pop_back();
  entry(extent).store(true, std::memory_order_relaxed);
  return reinterpret_cast<void*>(extent);  // NOLINT(performance-no-int-to-ptr)
}

// Discards the contents and returns the extent to its pool, which keeps its addresses.
void SpilledSmall::release_extent(void* address, std::size_t size) noexcept {
  if (!heap_.is_owner_process()) return;  // a child of fork keeps it until it ends
  const std::lock_guard guard(mutex_);
  heap_.advise(address, size, MADV_DONTNEED);
  const auto begin = reinterpret_cast<std::uint64_t>(address);
  try {
    for (auto at = begin; at < begin + size; at += k_extent) {
      entry(at).store(false, std::memory_order_relaxed);
      free_.insert(std::ranges::lower_bound(free_, at, std::greater<>()), at);
    }
  } catch (const std::bad_alloc&) {  // no memory: the extent is not reused
  }
}

}  // namespace terrace::agent
