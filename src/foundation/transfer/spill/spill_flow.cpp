// SPDX-License-Identifier: Apache-2.0
// Implements one step of the pager thread: services pending faults, prefetches, evicts and writes back, as the
// replacement policy decides. See spill.hpp.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "transfer/spill/spill.hpp"
#include "transfer/spill/spill_limits.hpp"

namespace terrace::transfer {

namespace {

using spill_limits::k_fault_reserve;
using spill_limits::k_max_reads;
using spill_limits::k_max_sentinels;
using spill_limits::k_max_writes;
using spill_limits::k_write_back_grace;

const std::byte* content_at(std::uint64_t address) {
  return reinterpret_cast<const std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}

bool is_zero(const std::byte* data, std::size_t size) {
  return data[0] == std::byte{} && std::memcmp(data, data + 1, size - 1) == 0;
}

}  // namespace

// Called in each round of the pager's loop.
void Spill::step() noexcept {
  if (call_pending_ && call_.kind == Call::Kind::fork) {  // waits for I/O in flight and the eager chunks
    if (!fetch_eager_chunks()) service_faults(true);
    return disk_->submit();
  }
  service_faults(false);
  evict_ahead();
  write_back_dirty();
  release_excess_pages();
  service_faults(false);
  if (handover_since_ns_ == 0) prefetch();  // else it would read chunks of the block being handed over
  arm_sentinels();
  // Avoid deadlock: exceed the limit when no I/O is in flight and nothing is evictable.
  if (!fault_queue_.empty() && reads_ + writes_ == 0 && eviction_queue_.empty()) service_faults(true);
  disk_->submit();
}

// Gives pages to the chunks of the fault queue, oldest fault first. `forced`: beyond the limit if needed.
void Spill::service_faults(bool forced) noexcept {
  for (auto left = fault_queue_.size(); left > 0; --left) {
    const auto c = fault_queue_.front();
    auto& chunk = chunks_[c];
    if (chunk.state == ChunkState::unmapped_resident) {
      fault_queue_.erase(fault_queue_.begin());
      map_chunk(c);
      resume_waiters(c);
      continue;
    }
    if (chunk.state == ChunkState::swapped_out && disk_->num_free() == 0) return;
    const auto slot = obtain_slot(forced);
    if (slot == SpillPool::k_none) return;
    fault_queue_.erase(fault_queue_.begin());
    if (chunk.state == ChunkState::swapped_out) {
      counts_->demanded.fetch_add(1, std::memory_order_relaxed);
      start_read(c, slot);
      continue;
    }
    pool_->zero_fill(slot);
    chunk.slot = slot;
    ++num_with_content_;
    map_chunk(c);
    resume_waiters(c);
  }
}

// Returns a slot with an unused page: a free one, or that of the oldest clean chunk of the eviction queue, which
// is swapped out. k_none if there is none.
Spill::Slot Spill::take_free_slot() noexcept {
  if (const auto slot = pool_->acquire(false); slot != SpillPool::k_none) return slot;
  const auto found = std::ranges::find_if(eviction_queue_, [&](ChunkId c) {
    const auto& chunk = chunks_[c];
    return chunk.clean && !chunk.writing && !chunk.fault_pending && !chunk.refault_pending;
  });
  if (found == eviction_queue_.end()) return SpillPool::k_none;
  const auto c = *found;
  auto& chunk = chunks_[c];
  if (chunk.prefetched) counts_->wasted.fetch_add(1, std::memory_order_relaxed);
  chunk.state = ChunkState::swapped_out;
  chunk.clean = false;
  chunk.eviction_epoch = ++num_evictions_;
  set_prefetched(c, false);
  notify_policy(c);
  eviction_queue_.erase(found);
  pool_->release(chunk.slot);  // records that the page is not zero
  return pool_->acquire(false);
}

// Returns a slot as take_free_slot() does; with `forced`, one with a page beyond the limit rather than none.
Spill::Slot Spill::obtain_slot(bool forced) noexcept {
  const auto slot = take_free_slot();
  if (slot != SpillPool::k_none || !forced) return slot;
  const auto more = pool_->acquire(true);
  if (more != SpillPool::k_none && pool_->pages() > pool_->limit())
    note_over_limit(pool_->pages() - allowed_chunks_);
  return more;
}

// Starts to read a swapped-out chunk into the slot, for a fault or as a prefetch.
void Spill::start_read(ChunkId c, Slot slot) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.state == ChunkState::swapped_out) note_refault(num_evictions_ - chunk.eviction_epoch);
  chunk.state = ChunkState::reading;
  chunk.slot = slot;
  notify_policy(c);
  ++reads_;
  disk_->start({false, pool_->address(slot), offset(c), k_chunk, c});
}

// Reads the swapped-out chunks with the earliest predicted use, while there are pages for them.
void Spill::prefetch() noexcept {
  while (reads_ < k_max_reads && num_prefetched_ < pool_->limit() / 2 && disk_->num_free() > k_max_writes) {
    const auto next = policy_->next_prefetch();
    if (!next) return;
    auto& chunk = chunks_[next->chunk];
    if (chunk.state == ChunkState::evicting) {
      if (chunk.writing) {
        chunk.refault_pending = true;
        notify_policy(next->chunk);
      } else {
        cancel_eviction(next->chunk);
      }
      continue;
    }
    if (pool_->num_free() + num_clean_evicting() <= k_fault_reserve) return;
    const auto slot = obtain_slot(false);
    if (slot == SpillPool::k_none) return;
    counts_->prefetched.fetch_add(1, std::memory_order_relaxed);
    start_read(next->chunk, slot);
    set_prefetched(next->chunk, true);
  }
}

// Arms sentinels: unmaps some mapped chunks, so that a fault on one reports a thread's position in its access
// history.
void Spill::arm_sentinels() noexcept {
  if (num_with_content_ <= pool_->limit() || !pool_->has_empty_slot()) return;
  for (std::size_t set = 0; set < k_max_sentinels; ++set) {
    const auto sentinel = policy_->next_sentinel();
    if (!sentinel) return;
    auto& chunk = chunks_[*sentinel];
    if (chunk.state != ChunkState::mapped || chunk.pinned || chunk.fault_pending) continue;
    const auto slot = pool_->unmap_from(address_of(*sentinel));
    if (slot == SpillPool::k_none) continue;
    chunk.slot = slot;
    chunk.state = ChunkState::unmapped_resident;
    chunk.clean = false;
    notify_policy(*sentinel);
  }
}

// Starts evictions before their pages are needed: victims with the latest predicted use, and without pending
// faults none that is used before the next chunk to prefetch.
void Spill::evict_ahead() noexcept {
  if (num_with_content_ + fault_queue_.size() <= pool_->limit() && pool_->pages() <= pool_->limit()) return;
  reserve_file_space();
  const auto over = pool_->pages() > pool_->limit() ? pool_->pages() - pool_->limit() : 0;
  const auto wanted = spill_limits::eviction_target(pool_->limit()) + fault_queue_.size() + over;
  while (pool_->num_free() + eviction_queue_.size() < wanted && pool_->has_empty_slot()) {
    const auto victim = policy_->next_victim();
    if (!victim) return;
    if (fault_queue_.empty() && over == 0) {
      const auto load = policy_->next_prefetch();
      if (load && victim->when <= load->when) return;
    }
    begin_eviction(victim->chunk);
  }
}

// Frees pages beyond the limit as soon as their chunks are clean.
void Spill::release_excess_pages() noexcept {
  while (pool_->pages() > pool_->limit()) {
    const auto slot = take_free_slot();
    if (slot == SpillPool::k_none) return;
    pool_->release(slot);
    pool_->shrink();
  }
}

// Unmaps a chunk and appends it to the eviction queue. Returns false where it must stay.
bool Spill::begin_eviction(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.pinned || chunk.fault_pending) return false;
  if (chunk.state == ChunkState::mapped) {
    const auto slot = pool_->unmap_from(address_of(c));
    if (slot == SpillPool::k_none) return false;  // pinned by a device, or shared with a child
    chunk.slot = slot;
    chunk.clean = false;
  } else if (chunk.state != ChunkState::unmapped_resident) {
    return false;
  }
  chunk.state = ChunkState::evicting;
  chunk.refault_pending = false;
  eviction_queue_.push_back(c);
  notify_policy(c);
  return true;
}

void Spill::set_prefetched(ChunkId c, bool value) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.prefetched == value) return;
  chunk.prefetched = value;
  num_prefetched_ += value ? 1 : std::size_t(-1);
}

// Cancels the chunk's eviction; it stays unmapped in its slot.
void Spill::cancel_eviction(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.state == ChunkState::evicting) {
    std::erase(eviction_queue_, c);
    if (chunk.clean) note_refault(0);
  }
  chunk.state = ChunkState::unmapped_resident;
  chunk.refault_pending = false;
  notify_policy(c);
}

std::size_t Spill::num_clean_evicting() const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(eviction_queue_, [&](ChunkId c) {
    return chunks_[c].clean && !chunks_[c].writing && !chunks_[c].fault_pending && !chunks_[c].refault_pending;
  }));
}

// Writes back the dirty chunks of the eviction queue, but for its latest entries while pages are plentiful.
void Spill::write_back_dirty() noexcept {
  const bool is_short = pool_->num_free() + num_clean_evicting() <= k_fault_reserve || !fault_queue_.empty();
  const auto grace = is_short ? 0 : k_write_back_grace;
  const auto until = handover_since_ns_ > 0 ? 0 : grace;
  for (std::size_t i = 0; i + until < eviction_queue_.size();) {
    const auto c = eviction_queue_[i];
    const auto& chunk = chunks_[c];
    if (chunk.clean || chunk.writing) {
      ++i;
      continue;
    }
    if (writes_ >= k_max_writes || disk_->num_free() == 0) return;
    if (write_back(c)) ++i;
  }
}

// Compares a chunk with the file's copy by hash; starts a write if they differ. Returns false if the chunk was all
// zeros and was dropped from the queue instead.
bool Spill::write_back(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  const auto* const data = content_at(pool_->address(chunk.slot));
  if (is_zero(data, k_chunk)) {
    std::erase(eviction_queue_, c);
    pool_->release(chunk.slot);
    set_prefetched(c, false);
    release_file_chunk(c);
    chunk = {};
    notify_policy(c);
    --num_with_content_;
    return false;
  }
  const auto digest = XXH3_128bits(data, k_chunk);
  const Hash hash{digest.low64, digest.high64};
  if (chunk.has_copy && hash == chunk.hash) {
    counts_->clean.fetch_add(1, std::memory_order_relaxed);
    chunk.clean = true;
    return true;
  }
  assign_file_chunk(c);
  chunk.hash = hash;
  chunk.has_copy = false;
  chunk.writing = true;
  ++writes_;
  disk_->start({true, pool_->address(chunk.slot), offset(c), k_chunk, c});
  return true;
}

}  // namespace terrace::transfer
