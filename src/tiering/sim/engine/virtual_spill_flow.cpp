// SPDX-License-Identifier: Apache-2.0
// Decides which chunks are read and evicted in virtual time. Part of VirtualSpill: its background thread takes
// these steps in the order of transfer/spill/spill_flow.cpp, function by function; what moves, hashes, reads and
// writes there takes time here.
#include <algorithm>

#include "sim/engine/virtual_spill.hpp"
#include "transfer/spill/disk_queue.hpp"
#include "transfer/spill/spill_limits.hpp"

namespace terrace::sim {

namespace limits = transfer::spill_limits;

void VirtualSpill::step() {
  service_faults(false);
  evict_ahead();
  write_back_dirty();
  release_excess_pages();
  service_faults(false);
  if (!handover_block_) prefetch();
  arm_sentinels();
  // Avoid deadlock: with no I/O in flight and nothing evictable, exceed the limit for a waiting thread.
  if (!fault_queue_.empty() && reads_ + writes_ == 0 && eviction_queue_.empty()) service_faults(true);
}

std::size_t VirtualSpill::room() const {
  const auto taken = reads_ + writes_;
  return taken < transfer::k_disk_requests ? transfer::k_disk_requests - taken : 0;
}

// Services pending faults.
void VirtualSpill::service_faults(bool forced) {
  for (auto left = fault_queue_.size(); left > 0; --left) {
    const auto c = fault_queue_.front();
    auto& chunk = chunks_[c];
    if (chunk.state == ChunkState::swapped_out && room() == 0) return;
    if (!obtain_page(forced)) return;
    fault_queue_.pop_front();
    if (chunk.state == ChunkState::swapped_out) {
      ++account_.demanded;
      start_read(c);
      continue;
    }
    // New pages are zero; reused pages are zeroed.
    if (!is_new_) {
      work(k_chunk / parts_.stream);
      beside_.written += static_cast<double>(k_chunk.value);
    }
    ++num_with_content_;
    account_.max_content =
        std::max(account_.max_content, Bytes{(num_with_content_ + kernel_paged_) * k_chunk.value});
    chunk.stored = true;  // the first access to memory without content writes it
    map_chunk(c);
    resume_waiters(c);
  }
}

// Takes a free page, or that of the clean chunk that has waited longest for its eviction. Returns false if there
// is none.
bool VirtualSpill::free_page() {
  if (free() > 0) {
    is_new_ = ++used_ > made_;
    made_ = std::max(made_, used_);
    return true;
  }
  is_new_ = false;
  const auto found = std::ranges::find_if(eviction_queue_, [&](std::uint32_t c) {
    const auto& chunk = chunks_[c];
    return chunk.clean && !chunk.writing && !chunk.fault_pending && !chunk.refault_pending;
  });
  if (found == eviction_queue_.end()) return false;
  const auto c = *found;
  auto& chunk = chunks_[c];
  if (chunk.prefetched) ++account_.wasted;
  chunk.state = ChunkState::swapped_out;
  chunk.clean = false;
  set_prefetched(c, false);
  notify_policy(c);
  eviction_queue_.erase(found);
  return true;
}

// Obtains a page; exceeds the limit if `forced`.
bool VirtualSpill::obtain_page(bool forced) {
  if (free_page()) return true;
  used_ += forced ? 1 : 0;
  return forced;
}

// Releases pages beyond the limit, as soon as the file has their content.
void VirtualSpill::release_excess_pages() {
  while (used_ > limit_ && free_page()) --used_;
}

void VirtualSpill::start_read(std::uint32_t c) {
  chunks_[c].state = ChunkState::reading;
  notify_policy(c);
  ++reads_;
  starts_.push_back({false, c});
}

// Prefetches the chunks in the file that are used soonest, as long as there are pages for them.
void VirtualSpill::prefetch() {
  while (reads_ < limits::k_max_reads && num_prefetched_ < limit_ / 2 && room() > limits::k_max_writes) {
    const auto next = parts_.policy->next_prefetch();
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
    if (free() + num_clean_evicting() <= limits::k_fault_reserve) return;
    if (!obtain_page(false)) return;
    ++account_.prefetched;
    start_read(next->chunk);
    set_prefetched(next->chunk, true);
  }
}

// Arms sentinels: a fault on one reports a thread's position in its access history.
void VirtualSpill::arm_sentinels() {
  if (num_with_content_ <= limit_) return;
  for (std::size_t set = 0; set < limits::k_max_sentinels; ++set) {
    const auto mark = parts_.policy->next_sentinel();
    if (!mark) return;
    auto& chunk = chunks_[*mark];
    if (chunk.state != ChunkState::mapped || chunk.fault_pending) continue;
    remap();
    chunk.state = ChunkState::unmapped_resident;
    chunk.clean = false;
    notify_policy(*mark);
  }
}

// Unmaps chunks before their pages are needed: those used last, and only if they are used later than what would be
// fetched.
void VirtualSpill::evict_ahead() {
  if (num_with_content_ + fault_queue_.size() <= limit_ && used_ <= limit_) return;
  const auto over = used_ > limit_ ? used_ - limit_ : 0;
  const auto wanted = limits::eviction_target(limit_) + fault_queue_.size() + over;
  while (free() + eviction_queue_.size() < wanted) {
    const auto victim = parts_.policy->next_victim();
    if (!victim) return;
    if (fault_queue_.empty() && over == 0) {
      const auto load = parts_.policy->next_prefetch();
      if (load && victim->when <= load->when) return;
    }
    begin_eviction(victim->chunk);
  }
}

// Unmaps the chunk and queues its eviction. Returns false if a thread waits for it or if it is not in memory.
bool VirtualSpill::begin_eviction(std::uint32_t c) {
  auto& chunk = chunks_[c];
  if (chunk.fault_pending) return false;
  if (chunk.state == ChunkState::mapped) {
    remap();
    chunk.clean = false;
  } else if (chunk.state != ChunkState::unmapped_resident) {
    return false;
  }
  chunk.state = ChunkState::evicting;
  chunk.refault_pending = chunk.left_written = false;
  eviction_queue_.push_back(c);
  notify_policy(c);
  return true;
}

void VirtualSpill::set_prefetched(std::uint32_t c, bool value) {
  auto& chunk = chunks_[c];
  if (chunk.prefetched == value) return;
  chunk.prefetched = value;
  num_prefetched_ += value ? 1 : std::size_t(-1);
}

// Cancels the eviction: the chunk stays resident but unmapped.
void VirtualSpill::cancel_eviction(std::uint32_t c) {
  auto& chunk = chunks_[c];
  if (chunk.state == ChunkState::evicting) std::erase(eviction_queue_, c);
  chunk.state = ChunkState::unmapped_resident;
  chunk.refault_pending = false;
  notify_policy(c);
}

// Drops the chunk's content.
void VirtualSpill::empty(std::uint32_t c) {
  set_prefetched(c, false);
  if (chunks_[c].state != ChunkState::empty) --num_with_content_;
  chunks_[c] = {.block = chunks_[c].block};
  notify_policy(c);
}

std::size_t VirtualSpill::num_clean_evicting() const {
  return static_cast<std::size_t>(std::ranges::count_if(eviction_queue_, [&](std::uint32_t c) {
    return chunks_[c].clean && !chunks_[c].writing && !chunks_[c].fault_pending && !chunks_[c].refault_pending;
  }));
}

// Compares an evicted chunk with the file's copy, and writes it if they differ.
void VirtualSpill::write_back_dirty() {
  const bool is_short = free() + num_clean_evicting() <= limits::k_fault_reserve || !fault_queue_.empty();
  const auto until = handover_block_ || is_short ? 0 : limits::k_write_back_grace;
  for (std::size_t i = 0; i + until < eviction_queue_.size(); ++i) {
    const auto c = eviction_queue_[i];
    if (chunks_[c].clean || chunks_[c].writing) continue;
    if (writes_ >= limits::k_max_writes || room() == 0) return;
    write_back(c);
  }
}

void VirtualSpill::write_back(std::uint32_t c) {
  auto& chunk = chunks_[c];
  work(k_chunk / parts_.stream);
  beside_.read += static_cast<double>(k_chunk.value);
  chunk.left_in = bound_.segment();
  if (chunk.has_copy && !chunk.stored) {
    ++account_.clean;
    chunk.clean = true;
    return;
  }
  chunk.stored = chunk.has_copy = false;
  chunk.writing = chunk.left_written = true;
  ++writes_;
  starts_.push_back({true, c});
}

}  // namespace terrace::sim
