// SPDX-License-Identifier: Apache-2.0
// Serves the C library's allocations inside Terrace, for the interposed malloc family: lock-free free lists by
// size class, and a bump pointer for fresh memory. See libc_arena.hpp.
#include "agent/heap/libc_arena.hpp"

#include <algorithm>

namespace terrace::agent {

constinit LibcArena g_libc_arena;

// Precedes each block.
struct LibcArena::Header {
  std::uint64_t size = 0;
  std::uint32_t size_class = 0;        // k_classes: over-aligned; never reused
  std::atomic<std::uint32_t> next{0};  // next free block, as a unit number
};

namespace {

constexpr std::uint64_t k_change = std::uint64_t{1} << 32;
constexpr std::uint32_t unit_of(std::uint64_t list) noexcept { return static_cast<std::uint32_t>(list); }

}  // namespace

void* LibcArena::take_free(List& list) noexcept {
  auto seen = list.load(std::memory_order_acquire);
  while (unit_of(seen) != 0) {
    auto* const block = at(unit_of(seen));
    // If another thread has taken the block meanwhile, the counter has changed and the exchange fails.
    const auto next = (reinterpret_cast<Header*>(block) - 1)->next.load(std::memory_order_relaxed);
    if (list.compare_exchange_weak(seen, (seen & ~(k_change - 1)) + k_change + next, std::memory_order_acquire))
      return block;
  }
  return nullptr;
}

void* LibcArena::take_fresh(std::size_t size, std::size_t alignment) noexcept {
  auto used = used_.load(std::memory_order_relaxed);
  for (;;) {
    const auto begin = (used + sizeof(Header) + alignment - 1) / alignment * alignment;
    const auto end = (begin + size + k_unit - 1) / k_unit * k_unit;
    if (end > k_arena) return nullptr;
    if (used_.compare_exchange_weak(used, end, std::memory_order_relaxed)) return bytes_.data() + begin;
  }
}

void* LibcArena::allocate(std::size_t size, std::size_t alignment) noexcept {
  static_assert(sizeof(Header) == k_unit);
  if (size > k_largest || alignment > k_max_aligned) return nullptr;
  std::size_t size_class = k_classes;
  void* block = nullptr;
  if (alignment <= k_unit) {
    const auto room = std::bit_ceil(std::max(size, k_smallest));
    size_class = static_cast<std::size_t>(std::countr_zero(room / k_smallest));
    block = take_free(free_[size_class]);
    if (!block) block = take_fresh(room, k_unit);
  } else {
    block = take_fresh(size, alignment);
  }
  if (!block) return nullptr;
  auto& header = *(static_cast<Header*>(block) - 1);
  header.size = size;
  header.size_class = static_cast<std::uint32_t>(size_class);
  return block;
}

void LibcArena::release(void* block) noexcept {
  auto& header = *(static_cast<Header*>(block) - 1);
  if (header.size_class >= k_classes) return;
  auto& list = free_[header.size_class];
  const auto unit = static_cast<std::uint32_t>((static_cast<std::byte*>(block) - bytes_.data()) / k_unit);
  auto seen = list.load(std::memory_order_relaxed);
  do header.next.store(unit_of(seen), std::memory_order_relaxed);
  while (!list.compare_exchange_weak(seen, (seen & ~(k_change - 1)) + k_change + unit, std::memory_order_release));
}

std::size_t LibcArena::size_of(const void* block) noexcept {
  return (static_cast<const Header*>(block) - 1)->size;
}

}  // namespace terrace::agent
