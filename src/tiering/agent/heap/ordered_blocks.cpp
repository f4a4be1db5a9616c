// SPDX-License-Identifier: Apache-2.0
// Implements the part of OrderedHeap that allocates, caches and releases blocks by intent, for the interposed
// malloc and the API. See ordered_heap.hpp.
#include <new>
#include <utility>

#include "agent/heap/ordered_heap.hpp"
#include "agent/heap/ordered_state.hpp"
#include "core/rounding.hpp"

namespace terrace::agent {

namespace {

// Freed blocks are cached only while a place has this much free above its watermark.
constexpr std::uint64_t k_max_cached = FreeBlockCache::k_max_bytes;
constexpr std::uint64_t k_min_free_to_cache = 8 * k_max_cached;

}  // namespace

bool OrderedHeap::contains(const void* block) const noexcept {
  const auto* const here = state_.load(std::memory_order_acquire);
  return here && here->space.contains(block);
}

std::size_t OrderedHeap::size_of(const void* block) const noexcept {
  return contains(block) ? state_.load(std::memory_order_relaxed)->space.find(block).size : 0;
}

bool OrderedHeap::is_invalid_block(const void* address) const noexcept {
  if (small_.contains_address(address))
    return small_.order_of(address) < 0 || !memory::BlockArena::is_block_start(address);
  if (!contains(address)) return false;
  const auto size = size_of(address);
  const std::lock_guard guard(mutex_);
  return !blocks_.contains(reinterpret_cast<std::uint64_t>(address)) && (!is_shut_down() || size > 0);
}

// Returns whether freed blocks of the intent may be cached, i.e. their pages are not needed otherwise.
bool OrderedHeap::has_cache_headroom(int intent) noexcept {
  return ensure_state()->fill.has_room(k_min_free_to_cache, order_of(intent).places);
}

// Returns a freed block of this size that was filled by the same intent, or null.
void* OrderedHeap::take_cached(std::size_t size, std::size_t alignment, int intent, FillMode when) noexcept {
  const std::lock_guard guard(mutex_);
  const auto kept = cache_.take(size, alignment);
  if (kept.size == 0) return nullptr;
  const auto block = freed_.find(kept.address);
  if (block->second.intent != intent || block->second.when != when) {
    cache_.insert(kept);
    return nullptr;
  }
  blocks_.insert(freed_.extract(block));
  return reinterpret_cast<void*>(kept.address);  // NOLINT(performance-no-int-to-ptr)
}

// Evicts cached blocks until at most `bytes` remain and one more fits.
void OrderedHeap::trim_cache(std::uint64_t bytes) noexcept {
  while (true) {
    FreeBlockCache::Block oldest;
    {
      const std::lock_guard guard(mutex_);
      if (cache_.bytes() <= bytes && !cache_.is_full()) return;
      oldest = cache_.take_oldest();
      freed_.erase(oldest.address);
    }
    discard(oldest.address, oldest.size);
  }
}

void* OrderedHeap::allocate(std::size_t size, std::size_t alignment, int intent, FillMode when, bool zeros,
                            int* error) noexcept {
  if (is_shut_down()) return nullptr;
  const auto* const here = ensure_state();
  if (!here || size > here->space.reserved().value) return nullptr;
  if (!zeros)
    if (void* const block = take_cached(align_up(size, k_page), alignment, intent, when)) return block;
  return allocate_new(size, alignment, {0, intent, when, !zeros, 0}, error);
}

// Allocates a block and fills it, or arms its touch traps. `error`: as of allocate().
void* OrderedHeap::allocate_new(std::size_t size, std::size_t alignment, Block block, int* error) noexcept {
  auto& here = *ensure_state();
  if (!has_cache_headroom(block.intent)) {
    trim_cache(0);
    small_.purge();
  }
  const auto& order = order_of(block.intent);
  if (order.rule != Rule::spill && !has_free_capacity(size, order)) return nullptr;
  void* const got = here.space.allocate(size, alignment);
  if (!got) return nullptr;
  const auto found = here.space.find(got);
  block.size = found.size;
  int problem = 0;
  // Armed before registration: a late notification for a previous block here must not fill this one.
  if (block.when == FillMode::on_touch) {
    arm_touch_traps(found.address, found.size, block.intent);
  } else if (!fill_by_rule(order, found.address, found.size, block.intent, &block.left, &problem)) {
    here.space.release(got);
    return nullptr;
  }
  if (error) *error = problem;
  try {
    const std::lock_guard guard(mutex_);
    blocks_[found.address] = block;
  } catch (const std::bad_alloc&) {
    discard(found.address, found.size);
    return nullptr;
  }
  return got;
}

bool OrderedHeap::release(void* block) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(block);
  decltype(blocks_)::node_type freed;
  {
    const std::lock_guard guard(mutex_);
    freed = blocks_.extract(address);  // touches have no effect from here on
  }
  if (freed.empty()) return false;
  const auto of = freed.mapped();
  if (!is_shut_down() && of.size <= k_max_cached && of.left == 0 && of.is_cacheable &&
      has_cache_headroom(of.intent)) {
    trim_cache(k_max_cached - of.size);
    const std::lock_guard guard(mutex_);
    if (!cache_.is_full() && cache_.bytes() + of.size <= k_max_cached) {
      cache_.insert({address, of.size});
      freed_.insert(std::move(freed));
      return true;
    }
  }
  return discard(address, of.size);
}

// Unmaps a block that is in no list any more, and releases its accounting.
bool OrderedHeap::discard(std::uint64_t address, std::uint64_t size) noexcept {
  auto& here = *state_.load(std::memory_order_acquire);
  await_filled(address, size);
  if (auto* const traps = here.traps.load()) traps->unregister_range(address, size);
  forget(address, size);
  return here.space.release(reinterpret_cast<void*>(address)) > 0;  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace terrace::agent
