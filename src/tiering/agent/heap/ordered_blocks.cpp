// Blocks by intent: how they are allocated, kept when they are freed, and given back. See ordered_heap.hpp.
#include <new>
#include <utility>

#include "agent/heap/ordered_heap.hpp"
#include "agent/heap/ordered_working.hpp"
#include "core/rounding.hpp"

namespace terrace::agent {

namespace {

// Blocks that were freed lately: only where a place has so much room above its mark.
constexpr std::uint64_t k_max_kept = KeptBlocks::k_max_bytes;
constexpr std::uint64_t k_room_to_keep = 8 * k_max_kept;

}  // namespace

bool OrderedHeap::contains(const void* block) const noexcept {
  const auto* const here = working_.load(std::memory_order_acquire);
  return here && here->space.contains(block);
}

std::size_t OrderedHeap::size_of(const void* block) const noexcept {
  return contains(block) ? working_.load(std::memory_order_relaxed)->space.find(block).size : 0;
}

bool OrderedHeap::is_no_block(const void* address) const noexcept {
  if (small_.has_space_at(address))
    return small_.order_of(address) < 0 || !memory::BlockArena::is_block_start(address);
  if (!contains(address)) return false;
  const auto size = size_of(address);
  const std::lock_guard guard(mutex_);
  return !blocks_.contains(reinterpret_cast<std::uint64_t>(address)) && (!is_left() || size > 0);
}

// Blocks that were freed are kept only where their pages are in nobody's way.
bool OrderedHeap::has_room(int intent) noexcept {
  return working()->fill.has_room(k_room_to_keep, order_of(intent).places);
}

void* OrderedHeap::take_kept(std::size_t size, std::size_t alignment, int intent, When when) noexcept {
  const std::lock_guard guard(mutex_);
  const auto kept = kept_.take(size, alignment);
  if (kept.size == 0) return nullptr;
  const auto block = freed_.find(kept.address);
  if (block->second.intent != intent || block->second.when != when) {
    kept_.keep(kept);
    return nullptr;
  }
  blocks_.insert(freed_.extract(block));
  return reinterpret_cast<void*>(kept.address);  // NOLINT(performance-no-int-to-ptr)
}

// And room for one more.
void OrderedHeap::keep_at_most(std::uint64_t bytes) noexcept {
  while (true) {
    KeptBlocks::Block oldest;
    {
      const std::lock_guard guard(mutex_);
      if (kept_.bytes() <= bytes && !kept_.full()) return;
      oldest = kept_.take_oldest();
      freed_.erase(oldest.address);
    }
    discard(oldest.address, oldest.size);
  }
}

void* OrderedHeap::allocate(std::size_t size, std::size_t alignment, int intent, When when, bool zeros,
                            int* error) noexcept {
  if (is_left()) return nullptr;
  const auto* const here = working();
  if (!here || size > here->space.reserved().value) return nullptr;
  if (!zeros)
    if (void* const block = take_kept(align_up(size, k_page), alignment, intent, when)) return block;
  return obtain(size, alignment, {0, intent, when, !zeros, 0}, error);
}

void* OrderedHeap::obtain(std::size_t size, std::size_t alignment, Block block, int* error) noexcept {
  auto& here = *working();
  if (!has_room(block.intent)) {
    keep_at_most(0);
    small_.purge();
  }
  const auto& order = order_of(block.intent);
  if (order.rule != Rule::spill && !may_have_room(size, order)) return nullptr;
  void* const got = here.space.allocate(size, alignment);
  if (!got) return nullptr;
  const auto found = here.space.find(got);
  block.size = found.size;
  int problem = 0;
  // It is watched before it is known: what is told of a block that was there before begins nothing in this one.
  if (block.when == When::at_touch) {
    await_touches(found.address, found.size, block.intent);
  } else if (!fill_by(order, found.address, found.size, block.intent, &block.left, &problem)) {
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
    freed = blocks_.extract(address);  // from here on touches begin nothing
  }
  if (freed.empty()) return false;
  const auto of = freed.mapped();
  if (!is_left() && of.size <= k_max_kept && of.left == 0 && of.may_keep && has_room(of.intent)) {
    keep_at_most(k_max_kept - of.size);
    const std::lock_guard guard(mutex_);
    if (!kept_.full() && kept_.bytes() + of.size <= k_max_kept) {
      kept_.keep({address, of.size});
      freed_.insert(std::move(freed));
      return true;
    }
  }
  return discard(address, of.size);
}

// What is in no list any more.
bool OrderedHeap::discard(std::uint64_t address, std::uint64_t size) noexcept {
  auto& here = *working_.load(std::memory_order_acquire);
  await_filled(address, size);
  if (auto* const traps = here.traps.load()) traps->unregister_range(address, size);
  forget(address, size);
  return here.space.release(reinterpret_cast<void*>(address)) > 0;  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace terrace::agent
