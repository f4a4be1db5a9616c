// SPDX-License-Identifier: Apache-2.0
// Obtains and returns the extents (2 MiB units) that an OrderedHeap's arenas of small blocks divide. See
// small_blocks.hpp.
//
// A partly free extent keeps its pages, so that a block's place is that of its extent in the ledger.
#include "agent/heap/small_blocks.hpp"

#include <linux/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/heap/ordered_heap.hpp"

namespace terrace::agent {

namespace {

// Reserved address space. Enough, because machines with more memory have larger blocks.
constexpr Bytes k_reserve{256ULL << 30};

}  // namespace

// Reserves the address space, and the table of orderings by extent. Requires: mutex_ is held.
bool SmallBlocks::reserve() noexcept {
  if (reserved_) return reserved_->reserved().value > 0;
  reserved_.emplace(k_reserve, Bytes{k_extent});
  const auto extents = reserved_->reserved().value / k_extent;
  if (extents == 0) return false;
  // Bare system call: mmap() is interposed.
  const auto table = ::syscall(SYS_mmap, 0L, extents, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  if (table == -1) return false;
  orders_ = reinterpret_cast<std::atomic<std::uint8_t>*>(table);  // NOLINT(performance-no-int-to-ptr)
  space_.store(&*reserved_, std::memory_order_release);
  return true;
}

// Creates the arena of an ordering at its first block. Returns false if it does not exist and cannot be created.
bool SmallBlocks::create_arena(int order) noexcept {
  const auto at = static_cast<std::size_t>(order);
  auto& source = sources_[at];
  bool done = false;
  {
    const std::lock_guard guard(mutex_);
    if (const auto known = arena_states_[at].load(std::memory_order_relaxed)) return known > 0;
    source.owner = this;
    source.order = order;
    done = space_.load() || reserve();
  }
  done = done && memory::BlockArena::create(static_cast<unsigned>(order), source);
  arena_states_[at].store(done ? 1 : -1, std::memory_order_release);
  return done;
}

void* SmallBlocks::allocate(std::size_t size, std::size_t alignment, int order, bool zeros) noexcept {
  if (order < 0 || static_cast<std::size_t>(order) >= arena_states_.size()) return nullptr;
  const auto known = arena_states_[static_cast<std::size_t>(order)].load(std::memory_order_acquire);
  if (known < 0 || (known == 0 && !create_arena(order))) return nullptr;
  return memory::BlockArena::allocate(static_cast<unsigned>(order), size, alignment, zeros);
}

void SmallBlocks::purge() noexcept {
  for (std::size_t i = 0; i < arena_states_.size(); ++i)
    if (arena_states_[i].load(std::memory_order_acquire) > 0) memory::BlockArena::purge(static_cast<unsigned>(i));
}

// Obtains a placed extent for an arena that has run out of free blocks. Returns null if the ordering has no
// capacity.
void* SmallBlocks::obtain(std::size_t size, int order) noexcept {
  if (is_shut_down_) return nullptr;
  void* const got = reserved_->allocate(size, k_extent);
  if (!got) return nullptr;
  const auto address = reinterpret_cast<std::uint64_t>(got);
  if (!heap_.place(address, size, order)) {
    reserved_->release(got);
    return nullptr;
  }
  orders_[(address - reserved_->base()) / k_extent].store(static_cast<std::uint8_t>(order + 1),
                                                          std::memory_order_relaxed);
  return got;
}

// Takes back extents in which an arena has no blocks any more.
void SmallBlocks::give_back(void* address, std::size_t size) noexcept {
  if (is_shut_down_) return;
  const auto begin = reinterpret_cast<std::uint64_t>(address);
  for (auto at = begin; at < begin + size; at += k_extent)
    orders_[(at - reserved_->base()) / k_extent].store(0, std::memory_order_relaxed);
  heap_.on_unmapped(begin, size);
  reserved_->release_part(begin, size);
}

// Lock order: arenas obtain extents while they hold their own locks.
void SmallBlocks::lock() const noexcept {
  mutex_.lock();
  if (reserved_) reserved_->lock();
}

void SmallBlocks::unlock() const noexcept {
  if (reserved_) reserved_->unlock();
  mutex_.unlock();
}

}  // namespace terrace::agent
