// SPDX-License-Identifier: Apache-2.0
// Hands blocks of the user-space pager over to kernel paging, reviews the result and limits their memory. Runs on
// the pager thread. See spill.hpp, and block_use.hpp for the criteria; spill_reclaim.cpp takes blocks back.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "transfer/spill/spill.hpp"
#include "transfer/spill/spill_limits.hpp"
#include "transfer/spill/spill_system.hpp"

namespace terrace::transfer {

namespace {

using spill_limits::k_refusals_per_failed_trial;

Seconds in_seconds(std::uint64_t ns) noexcept { return Seconds{to_seconds(ns)}; }

}  // namespace

// Returns the block that contains a chunk, or blocks_.end().
Spill::Blocks::iterator Spill::block_of(ChunkId c) noexcept {
  auto block = blocks_.upper_bound(c);
  if (block == blocks_.begin()) return blocks_.end();
  --block;
  return c - block->first < block->second.count ? block : blocks_.end();
}

// Cancels the handover in progress, if its block overlaps the range.
void Spill::cancel_handovers_in(ChunkId first, ChunkId end) noexcept {
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block)
    if (block->second.handing_over && block->first < end && first < block->first + block->second.count)
      cancel_handover(block);
}

// Splits the block that contains `at`, so that one begins there.
void Spill::split_block(ChunkId at) noexcept {
  const auto block = block_of(at);
  if (block == blocks_.end() || block->first == at) return;
  auto rest = block->second;
  rest.count = block->first + block->second.count - at;
  block->second.count = at - block->first;
  add_block(at, rest);
}

// Splits blocks at both ends of the range. Returns the first block of the range.
Spill::Blocks::iterator Spill::divide_blocks(ChunkId first, ChunkId end) noexcept {
  split_block(first);
  split_block(end);
  return blocks_.lower_bound(first);
}

// Records that a thread waits for a swapped-out or reading chunk, and starts a handover where its block qualifies.
void Spill::note_load(ChunkId c, bool expected, bool sparse) noexcept {
  const auto found = block_of(c);
  if (found == blocks_.end()) return;
  auto& block = found->second;
  if (block.use.is_fresh()) block.seen = sample_from_touches();
  auto& heap = heap_of(found->first);
  const auto count = [&](BlockUse& use) {
    if (chunks_[c].state == ChunkState::swapped_out) use.on_load(expected);
    use.on_wait(sparse);
  };
  count(block.use);
  if (BlockUse::is_piece(block.count)) count(heap);
  // Without file space for the whole block the program would get SIGBUS.
  if (block.use.prefers_kernel_paging(heap, block.count) && block.has_file_space && !block.protection_changed &&
      handover_since_ns_ == 0)
    hand_over_to_kernel(found);
}

// Starts a handover. Threads that fault in the block wait until it ends.
void Spill::hand_over_to_kernel(Blocks::iterator found) noexcept {
  found->second.handing_over = true;
  handover_since_ns_ = steady_ns();
  const auto is_in = [&](ChunkId c) { return c - found->first < found->second.count; };
  for (const auto c : fault_queue_)
    if (is_in(c)) chunks_[c].fault_pending = false;
  std::erase_if(fault_queue_, is_in);
}

// Continues a handover: evicts all chunks of the block, then maps the file over it. Cancels it on an obstacle or
// after the time limit.
void Spill::continue_handover() noexcept {
  const auto found = std::ranges::find_if(blocks_, [](const auto& one) { return one.second.handing_over; });
  if (found == blocks_.end()) {
    handover_since_ns_ = 0;
    return;
  }
  const auto first = found->first;
  const auto count = found->second.count;
  bool all = true;
  for (auto c = first; c < first + count; ++c) {
    auto& chunk = chunks_[c];
    if (chunk.pinned || chunk.file_chunk > 0 || is_frozen(c)) return cancel_handover(found);
    if (chunk.state == ChunkState::mapped || chunk.state == ChunkState::unmapped_resident) begin_eviction(c);
    if (chunk.state == ChunkState::evicting && chunk.clean && !chunk.writing) {
      std::erase(eviction_queue_, c);
      set_prefetched(c, false);
      pool_->release(chunk.slot);
      chunk.state = ChunkState::swapped_out;
      chunk.clean = chunk.fault_pending = chunk.refault_pending = false;
      notify_policy(c);
    }
    all = all && (chunk.state == ChunkState::empty || chunk.state == ChunkState::swapped_out);
  }
  if (!all) {
    if (steady_ns() - handover_since_ns_ <= parts_.handover_limit_ns) return;
    found->second.use.back_off(1);
    cancel_handover(found);
    return;
  }
  if (!zero_empty_chunks_in_file(first, count) ||
      file_->map(address_of(first), offset(first), count * k_chunk) != 0)
    return cancel_handover(found);
  madvise(memory_at(address_of(first)), count * k_chunk, MADV_DONTFORK);
  if (is_irregular(found)) madvise(memory_at(address_of(first)), count * k_chunk, MADV_RANDOM);
  for (auto c = first; c < first + count; ++c) {
    if (chunks_[c].state != ChunkState::empty) --num_with_content_;
    chunks_[c] = {};
    notify_policy(c);
  }
  auto& block = found->second;
  block.handing_over = false;
  block.kernel_paged = true;
  block.since = steady_ns();
  block.period = block.period > 0 ? 2 * block.period : parts_.first_period_ns;
  if (is_irregular(found))
    block.trial.end();
  else
    block.trial.begin(sample_from_system(), block.seen, sample_from_touches());
  kernel_paged_ += count;
  handover_since_ns_ = 0;
  faults_->wake(address_of(first), count * k_chunk);
  std::erase_if(waiters_, [&](const Waiter& one) {
    if (one.chunk - first >= count) return false;
    counts_->waited.fetch_add(steady_ns() - one.since, std::memory_order_relaxed);
    return true;
  });
  merge_kernel_blocks(found);
}

bool Spill::is_irregular(Blocks::iterator block) noexcept {
  return block->second.use.is_irregular(heap_of(block->first), block->second.count);
}

// Merges adjacent kernel-paged pieces of one heap, if not in a page trial: they are reviewed and reclaimed as one
// block.
void Spill::merge_kernel_blocks(Blocks::iterator found) noexcept {
  const auto can_join = [&](Blocks::iterator one) {
    const auto& block = one->second;
    return (block.merged || BlockUse::is_piece(block.count)) && block.can_be_reclaimed() && !block.flushing &&
           !block.trial.is_running() && !(is_reclaiming_ && reclaimed_block_ == one);
  };
  const auto join = [&](Blocks::iterator one, Blocks::iterator next) {
    if (!can_join(one) || !can_join(next) || one->first + one->second.count != next->first) return false;
    one->second.count += next->second.count;
    one->second.merged = true;
    blocks_.erase(next);
    return true;
  };
  if (const auto next = std::next(found); next != blocks_.end()) join(found, next);
  if (found != blocks_.begin()) join(std::prev(found), found);
}

// Zeroes the file below empty chunks, where it may hold earlier content.
bool Spill::zero_empty_chunks_in_file(ChunkId first, std::uint32_t count) noexcept {
  for (auto c = first; c < first + count;) {
    const auto from = c++;
    if (chunks_[from].state != ChunkState::empty) continue;
    while (c < first + count && chunks_[c].state == ChunkState::empty) ++c;
    if (file_->make_zero(offset(from), (c - from) * k_chunk) != 0) return false;
  }
  return true;
}

// Cancels the handover and services the faults that waited for it.
void Spill::cancel_handover(Blocks::iterator found) noexcept {
  handover_since_ns_ = 0;
  auto& block = found->second;
  block.handing_over = false;
  block.use.reset();
  service_deferred_faults(found);
}

// Services the faults in a block that were deferred during its handover or reclaim.
void Spill::service_deferred_faults(Blocks::iterator found) noexcept {
  const auto count = found->second.count;
  for (std::size_t i = 0; i < waiters_.size();) {
    const auto c = waiters_[i].chunk;
    const auto all = waiters_.size();
    if (c - found->first < count) service_deferred_faults(c);
    if (waiters_.size() == all) ++i;
  }
  faults_->wake(address_of(found->first), count * k_chunk);  // unrecorded waiters fault again
}

void Spill::service_deferred_faults(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.state == ChunkState::mapped) {
    resume_waiters(c);
  } else if (chunk.state == ChunkState::unmapped_resident ||
             (chunk.state == ChunkState::evicting && !chunk.writing)) {
    cancel_eviction(c);
    map_chunk(c);
    resume_waiters(c);
  } else if (!chunk.fault_pending) {
    if (chunk.state == ChunkState::empty || chunk.state == ChunkState::swapped_out) fault_queue_.push_back(c);
    chunk.fault_pending = true;
    notify_policy(c);
  }
}

// Returns a sample of waits and work with the block in chunks. Work between accesses includes the cost of faults,
// which favours chunks.
PageTrial::Sample Spill::sample_from_touches() const noexcept {
  return {page_wait_time(), in_seconds(program_work_ns_), in_seconds(steady_ns())};
}

// Returns the total wait for kernel page reads: sampled, or estimated from major faults where that is not
// supported.
Seconds Spill::page_wait_time() const noexcept {
  if (!sees_fault_waits_) return static_cast<double>(major_faults()) * spill_limits::k_min_page_read_time;
  return in_seconds(counts_->paged_waited.load(std::memory_order_relaxed));
}

// Returns a sample by the system's counters: user time of the threads that accessed chunks.
PageTrial::Sample Spill::sample_from_system() const noexcept {
  std::uint64_t worked = 0;
  for (const auto& one : workers_) worked += user_time_ns(one.number);
  return {page_wait_time(), in_seconds(worked), in_seconds(steady_ns())};
}

// Reviews kernel-paged blocks at the end of their periods, because access patterns change. An irregular block is
// reclaimed (all chunks swapped out) and handed over again if it is still irregular. A sparsely used block stays
// with the kernel while its page trial passes.
void Spill::review_kernel_blocks() noexcept {
  if (is_reclaiming_) return;
  const auto now = steady_ns();
  for (auto found = blocks_.begin(); found != blocks_.end(); ++found) {
    auto& block = found->second;
    const auto since = now - block.since;
    if (!block.can_be_reclaimed() || since <= block.period / 2) continue;
    if (block.trial.is_running() && !block.trial.has_midpoint()) block.trial.set_midpoint(sample_from_system());
    if (since <= block.period) continue;
    if (block.trial.is_running()) {
      if (const auto end = sample_from_system(); block.trial.is_passed(end)) {
        block.since = now;
        block.period *= 2;
        block.trial.restart(end);
        continue;
      }
      block.use.back_off(k_refusals_per_failed_trial);
      block.period = 0;
    }
    return start_reclaim(found);
  }
}

// Limits kernel-paged blocks to their share, by size, of the memory available for data, and pages out the excess
// (MADV_PAGEOUT, clock order). Returns the share in bytes. `mapped`: their resident bytes; `stays`: unevictable
// bytes.
std::uint64_t Spill::shrink_kernel_paged(std::uint64_t mapped, std::uint64_t stays) noexcept {
  if (kernel_paged_ == 0) return 0;
  constexpr std::uint64_t k_min_bytes =
      spill_limits::k_min_resident * k_chunk;  // for kernel-paged blocks, and for chunks
  const auto room = parts_.memory.value - std::min(parts_.memory.value, stays + k_min_bytes);
  const auto part = static_cast<double>(kernel_paged_) / static_cast<double>(kernel_paged_ + num_with_content_);
  const auto share = std::max(static_cast<std::uint64_t>(static_cast<double>(room) * part), k_min_bytes);
  if (mapped <= share) return share;
  auto excess = mapped - share;
  for (std::size_t tried = 0; excess > 0 && tried < 2 * blocks_.size(); ++tried) {
    auto block = block_of(static_cast<ChunkId>(clock_hand_));
    if (block == blocks_.end() || !block->second.kernel_paged) {
      block = std::ranges::find_if(
          blocks_, [&](const auto& one) { return one.second.kernel_paged && one.first >= clock_hand_; });
      if (block == blocks_.end())
        block = std::ranges::find_if(blocks_, [](const auto& one) { return one.second.kernel_paged; });
      clock_hand_ = block->first;
    }
    const auto left = (block->first + block->second.count - clock_hand_) * k_chunk;
    const auto size = std::min(left, align_up(2 * excess, k_chunk));
    madvise(memory_at(address_of(static_cast<ChunkId>(clock_hand_))), size, k_madv_pageout);
    clock_hand_ += size / k_chunk;
    excess -= std::min(excess, size / 2);
  }
  return share;
}

}  // namespace terrace::transfer
