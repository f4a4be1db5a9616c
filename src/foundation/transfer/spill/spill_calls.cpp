// SPDX-License-Identifier: Apache-2.0
// Implements the calls of the agent's heap to the pager thread (reserve, release, discard, unmanage), on the
// caller's side and on the pager's. See spill.hpp.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <new>
#include <utility>

#include "transfer/spill/spill.hpp"
#include "transfer/spill/spill_system.hpp"

namespace terrace::transfer {

namespace {

constexpr int k_do_not_need_locked = 24;  // MADV_DONTNEED_LOCKED, since Linux 5.18

}  // namespace

void Spill::post_and_wait(const Call& call) noexcept {
  const std::lock_guard lock(call_mutex_);
  post_call(call);
}

// Posts a call and waits until the pager has executed it. Runs on a thread of the program.
void Spill::post_call(const Call& call) noexcept {
  call_ = call;
  calls_.fetch_add(1, std::memory_order_release);
  [[maybe_unused]] const char seen = *static_cast<const volatile char*>(memory_at(call_page_));
  // Usually the page fault has waited until the call was done. It has not where the page was present already.
  const auto asked = calls_.load(std::memory_order_relaxed);
  for (auto seen_answers = answers_.load(std::memory_order_acquire); seen_answers != asked;
       seen_answers = answers_.load(std::memory_order_acquire))
    answers_.wait(seen_answers, std::memory_order_acquire);
  madvise(memory_at(call_page_), k_page, MADV_DONTNEED);
}

// Executes the posted call. A fault on the call page may be reported more than once, also during execution.
void Spill::complete_call() noexcept {
  if (calls_.load(std::memory_order_acquire) == answers_.load(std::memory_order_relaxed)) call_pending_ = false;
  if (!call_pending_ || std::exchange(is_executing_call_, true)) return;
  // The next caller may overwrite call_ as soon as this call is answered.
  const bool forks = call_.kind == Call::Kind::fork;
  if (execute_call()) {
    call_pending_ = false;
    update_counts();
    answers_.fetch_add(1, std::memory_order_release);
    answers_.notify_all();
    faults_->fill_with_zeros(call_page_, k_page);
    if (forks)
      while (sem_wait(&forked_) != 0) {
      }
  }
  is_executing_call_ = false;
}

// Preallocates map nodes, so that no call, which needs two at most, fails in its middle. Returns false while the
// system has no memory for them.
bool Spill::refill_spare_blocks() noexcept {
  constexpr std::size_t k_spares = 64;
  constexpr std::size_t k_needed = 2;
  try {
    while (spare_blocks_.size() < k_spares)
      spare_blocks_.emplace(spare_blocks_.empty() ? 0 : spare_blocks_.rbegin()->first + 1, Block{});
  } catch (const std::bad_alloc&) {  // as many as could be allocated
  }
  return spare_blocks_.size() >= k_needed;
}

// Adds a block without allocation, by a spare map node.
void Spill::add_block(ChunkId first, const Block& block) noexcept {
  auto made = spare_blocks_.extract(spare_blocks_.begin());
  made.key() = first;
  made.mapped() = block;
  blocks_.insert(std::move(made));
}

// Returns false while an operation in flight prevents the call; it is retried in the next step.
bool Spill::execute_call() noexcept {
  if (!refill_spare_blocks()) return false;
  const auto first = static_cast<ChunkId>((call_.address - base_) / k_chunk);
  const auto count = call_.size / k_chunk;
  switch (call_.kind) {
    case Call::Kind::stop:
      stop_requested_ = true;
      return true;
    case Call::Kind::fork:
      if (!reclaim_range(0, static_cast<ChunkId>(count_)) || !fetch_eager_chunks() || reads_ + writes_ > 0)
        return false;
      snapshot_for_child();
      return true;
    case Call::Kind::reserve:
      reserve_now(first, count);
      return true;
    case Call::Kind::release:
      return release_now(first, count);
    case Call::Kind::discard:
      return discard_now(first, count);
    case Call::Kind::unmanage:
      return unmanage_now(first, count);
    case Call::Kind::prefer:
      policy_->prefer(first, static_cast<std::uint32_t>(count), call_.preference);
      return true;
    case Call::Kind::change_protection:
      return change_protection_now(first, count, call_.is_default);
  }
  return true;
}

void Spill::reserve(std::uint64_t address, std::size_t size) noexcept {
  post_and_wait({.kind = Call::Kind::reserve, .address = address, .size = size});
}
void Spill::release(std::uint64_t address, std::size_t size) noexcept {
  post_and_wait({.kind = Call::Kind::release, .address = address, .size = size});
}
void Spill::discard(std::uint64_t address, std::size_t size) noexcept {
  post_and_wait({.kind = Call::Kind::discard, .address = address, .size = size});
}
void Spill::unmanage(std::uint64_t address, std::size_t size) noexcept {
  post_and_wait({.kind = Call::Kind::unmanage, .address = address, .size = size});
}
void Spill::prefer(std::uint64_t address, std::size_t size, Preference preference) noexcept {
  post_and_wait({.kind = Call::Kind::prefer, .address = address, .size = size, .preference = preference});
}
void Spill::change_protection(std::uint64_t address, std::size_t size, bool is_default) noexcept {
  post_and_wait(
      {.kind = Call::Kind::change_protection, .address = address, .size = size, .is_default = is_default});
}

void Spill::reserve_now(ChunkId first, std::size_t count) noexcept {
  add_block(first, {.count = static_cast<std::uint32_t>(count)});
  space_request_pending_ = true;
  if (num_with_content_ + count > pool_->limit()) reserve_file_space();
}

// Reserves disk space for all blocks that have none yet. Called when memory is short, or will be.
void Spill::reserve_file_space() noexcept {
  if (!std::exchange(space_request_pending_, false)) return;
  for (auto& [first, block] : blocks_) {
    if (std::exchange(block.space_requested, true)) continue;
    const int error = file_->reserve(offset(first), block.count * k_chunk);
    block.has_file_space = error == 0;
    // fallocate(2) keeps what it allocated before the disk was full: free it for others.
    if (error != 0)
      for (auto c = first; c < first + block.count; ++c)
        if (!chunks_[c].has_copy && !chunks_[c].writing && !is_frozen(c)) file_->release(offset(c), k_chunk);
    if (error != 0 && error != EOPNOTSUPP)  // else a failing write reports it
      say_once(said_full_, k_full, error);
  }
}

// Returns whether an operation on a chunk of the range is in flight, so that a call must wait.
bool Spill::is_busy(ChunkId first, ChunkId end) const noexcept {
  for (auto c = first; c < end; ++c)
    if (chunks_[c].writing || chunks_[c].state == ChunkState::reading || chunks_[c].fault_pending) return true;
  return false;
}

// Discards a chunk's content and its file space. A page mapped at its address stays.
void Spill::drop_content(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.state == ChunkState::empty) return;
  set_prefetched(c, false);
  set_refused(c, false);
  if (chunk.failed_reads == k_max_read_attempts || chunk.state == ChunkState::unmanaged)
    remap_fresh(c, 1);  // its address is poisoned, or has a mapping of the program's
  else if (chunk.state == ChunkState::mapped)
    pool_->on_page_lost();
  if (chunk.state == ChunkState::evicting) std::erase(eviction_queue_, c);
  if (chunk.state == ChunkState::evicting || chunk.state == ChunkState::unmapped_resident)
    pool_->release(chunk.slot);
  if (chunk.state != ChunkState::unmanaged) --num_with_content_;
  release_file_chunk(c);
  chunk = {};
  notify_policy(c);
}

void Spill::discard_page(ChunkId c) noexcept {
  if (chunks_[c].state == ChunkState::mapped && madvise(memory_at(address_of(c)), k_chunk, MADV_DONTNEED) != 0)
    madvise(memory_at(address_of(c)), k_chunk, k_do_not_need_locked);
}

// Pager's side of release(): discards blocks that the program frees, with their file space.
bool Spill::release_now(ChunkId first, std::size_t count) noexcept {
  const auto end = first + static_cast<ChunkId>(count);
  if (is_being_reclaimed(first, end)) return false;
  cancel_handovers_in(first, end);
  for (auto block = divide_blocks(first, end); block != blocks_.end() && block->first < end; ++block)
    if (block->second.kernel_paged) reclaim_from_kernel(block);
  if (is_busy(first, end)) return false;
  policy_->prefer(first, static_cast<std::uint32_t>(count), Preference::none);
  // Free the pages before they leave the accounting: until the caller frees them they would count as unevictable.
  for (auto c = first; c < end; ++c) {
    discard_page(c);
    drop_content(c);
  }
  const auto from_block = blocks_.lower_bound(first);
  const auto behind = blocks_.lower_bound(end);
  const bool has_file =
      std::any_of(from_block, behind, [](const auto& one) { return one.second.space_requested; });
  blocks_.erase(from_block, behind);
  pool_->shrink();
  if (!has_file) return true;
  for (auto c = first; c < end;) {
    const auto from = c++;
    if (is_frozen(from)) continue;
    while (c < end && !is_frozen(c)) ++c;
    file_->release(offset(from), (c - from) * k_chunk);
  }
  return true;
}

// Pager's side of discard(): zeroes chunks, whose blocks stay.
bool Spill::discard_now(ChunkId first, std::size_t count) noexcept {
  const auto end = first + static_cast<ChunkId>(count);
  if (is_being_reclaimed(first, end)) return false;
  cancel_handovers_in(first, end);
  for (auto c = first; c < end;) {
    const auto block = block_of(c);
    if (block == blocks_.end()) {
      ++c;
      continue;
    }
    const auto behind = std::min(end, block->first + block->second.count);
    if (block->second.kernel_paged) reclaim_from_kernel(divide_blocks(c, behind));
    c = behind;
  }
  if (is_busy(first, end)) return false;
  for (auto c = first; c < end; ++c) {
    discard_page(c);
    drop_content(c);
  }
  pool_->shrink();
  return true;
}

// Loads a chunk to its address and pins it there. Returns false while that is in progress.
bool Spill::fetch_and_pin(ChunkId c) noexcept {
  chunks_[c].pinned = true;  // before it is mapped: a chunk without an access would be the first victim
  return fetch(c);
}

// Maps a chunk without an access of the program. Returns false while that is in progress.
bool Spill::fetch(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.writing || chunk.state == ChunkState::reading) return false;
  if ((chunk.state == ChunkState::unmapped_resident || chunk.state == ChunkState::evicting) &&
      !chunk.fault_pending) {
    cancel_eviction(c);
    map_chunk(c);
    resume_waiters(c);
  } else if (chunk.state == ChunkState::swapped_out && !chunk.fault_pending) {
    fault_queue_.push_back(c);
    chunk.fault_pending = true;
    notify_policy(c);
  }
  return chunk.state == ChunkState::mapped || (chunk.state == ChunkState::empty && !chunk.fault_pending);
}

// Takes a chunk out of management: it counts as the process's other memory from now on.
void Spill::unmanage_chunk(ChunkId c) noexcept {
  if (chunks_[c].state == ChunkState::mapped) {
    if (chunks_[c].failed_reads < k_max_read_attempts) pool_->on_page_lost();  // else it has no page
    --num_with_content_;
  }
  set_prefetched(c, false);
  set_refused(c, false);
  release_file_chunk(c);
  chunks_[c] = {.state = ChunkState::unmanaged};
  madvise(memory_at(address_of(c)), k_chunk, MADV_DOFORK);
  notify_policy(c);
}

// Releases chunks one by one: they need not all be resident at the same time.
bool Spill::unmanage_now(ChunkId first, std::size_t count) noexcept {
  const auto end = first + static_cast<ChunkId>(count);
  if (is_being_reclaimed(first, end)) return false;
  cancel_handovers_in(first, end);
  auto block = divide_blocks(first, end);
  if (!reclaim_range(first, end)) return false;
  for (; block != blocks_.end() && block->first < end;) {
    const auto& [start, one] = *block;
    if (one.kernel_paged) {  // its file mapping stays
      for (auto c = start; c < start + one.count; ++c) unmanage_chunk(c);
      kernel_paged_ -= one.count;
    }
    block = blocks_.erase(block);
  }
  bool all = true;
  for (auto c = first; c < end; ++c)
    if (chunks_[c].state != ChunkState::unmanaged && fetch_and_pin(c))
      unmanage_chunk(c);
    else
      all = all && chunks_[c].state == ChunkState::unmanaged;
  return all;
}

// Pager's side of change_protection(): takes blocks back from kernel paging before their protection changes; makes
// chunks evictable again afterwards.
bool Spill::change_protection_now(ChunkId first, std::size_t count, bool is_default) noexcept {
  const auto end = first + static_cast<ChunkId>(count);
  if (is_being_reclaimed(first, end)) return false;
  if (is_default) {
    for (auto c = first; c < end; ++c) {
      if (chunks_[c].state != ChunkState::mapped || chunks_[c].failed_reads > 0) continue;
      chunks_[c].pinned = false;  // UFFDIO_MOVE may work again
      set_refused(c, false);
      notify_policy(c);
    }
    const auto is_kept = [&](const auto& one) {
      return one.second.protection_changed && one.first < end && first < one.first + one.second.count;
    };
    if (std::ranges::none_of(blocks_, is_kept)) return true;
    for (auto block = divide_blocks(first, end); block != blocks_.end() && block->first < end; ++block)
      block->second.protection_changed = false;
    return true;
  }
  cancel_handovers_in(first, end);
  // A file mapping with other protection could not be reclaimed, and a child would see the parent's writes to it.
  auto block = divide_blocks(first, end);
  if (!reclaim_range(first, end)) return false;
  for (; block != blocks_.end() && block->first < end; ++block) block->second.protection_changed = true;
  return true;
}

}  // namespace terrace::transfer
