// What shall happen to chunks of memory over a file in virtual time: which come in, which leave. The order of
// steps is that of transfer/spill/spill_flow.cpp, function by function; what moves, hashes, reads and writes there
// takes time here.
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
  // What nobody else can give a page to.
  if (!fault_queue_.empty() && reads_ + writes_ == 0 && eviction_queue_.empty()) service_faults(true);
}

std::size_t VirtualSpill::room() const {
  const auto taken = reads_ + writes_;
  return taken < transfer::k_disk_requests ? transfer::k_disk_requests - taken : 0;
}

// Pages for who waits.
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
    // New pages are zero; those that had other content are made so.
    if (!is_new_) {
      work(k_chunk / parts_.stream);
      beside_.written += static_cast<double>(k_chunk.value);
    }
    ++num_with_content_;
    account_.max_content = std::max(account_.max_content, Bytes{(num_with_content_ + kernel_paged_) * k_chunk.value});
    chunk.stored = true;  // who touches memory without content writes it
    map_chunk(c);
    resume_waiters(c);
  }
}

// A page that nobody needs: a free one, or that of the chunk that has waited longest to leave and may.
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

// The same, and one beyond the limit where that is forced.
bool VirtualSpill::obtain_page(bool forced) {
  if (free_page()) return true;
  used_ += forced ? 1 : 0;
  return forced;
}

// Those beyond the limit, as soon as the file has what is in them.
void VirtualSpill::release_excess_pages() {
  while (used_ > limit_ && free_page()) --used_;
}

void VirtualSpill::start_read(std::uint32_t c) {
  chunks_[c].state = ChunkState::reading;
  notify_policy(c);
  ++reads_;
  starts_.push_back({false, c});
}

// What is used soonest of what is on disk comes in, as long as there are pages for it.
void VirtualSpill::prefetch() {
  while (reads_ < limits::k_reads && num_prefetched_ < limit_ / 2 && room() > limits::k_writes) {
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
    if (free() + num_clean_evicting() <= limits::k_reserve) return;
    if (!obtain_page(false)) return;
    ++account_.prefetched;
    start_read(next->chunk);
    set_prefetched(next->chunk, true);
  }
}

// Who touches these says how far the program is.
void VirtualSpill::arm_sentinels() {
  if (num_with_content_ <= limit_) return;
  for (std::size_t set = 0; set < limits::k_marks; ++set) {
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

// Chunks leave their place before their pages are needed: what is used last, and not before what would come in.
void VirtualSpill::evict_ahead() {
  if (num_with_content_ + fault_queue_.size() <= limit_ && used_ <= limit_) return;
  const auto over = used_ > limit_ ? used_ - limit_ : 0;
  const auto wanted = limits::kept(limit_) + fault_queue_.size() + over;
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

// Not to leave any more; it is in memory beside its place.
void VirtualSpill::cancel_eviction(std::uint32_t c) {
  auto& chunk = chunks_[c];
  if (chunk.state == ChunkState::evicting) std::erase(eviction_queue_, c);
  chunk.state = ChunkState::unmapped_resident;
  chunk.refault_pending = false;
  notify_policy(c);
}

// It has no content any more.
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

// What leaves is compared with what the file has, and written where that is something else.
void VirtualSpill::write_back_dirty() {
  const bool is_short = free() + num_clean_evicting() <= limits::k_reserve || !fault_queue_.empty();
  const auto until = handover_block_ || is_short ? 0 : limits::k_grace;
  for (std::size_t i = 0; i + until < eviction_queue_.size(); ++i) {
    const auto c = eviction_queue_[i];
    if (chunks_[c].clean || chunks_[c].writing) continue;
    if (writes_ >= limits::k_writes || room() == 0) return;
    write_back(c);
  }
}

void VirtualSpill::write_back(std::uint32_t c) {
  auto& chunk = chunks_[c];
  work(k_chunk / parts_.stream);
  beside_.read += static_cast<double>(k_chunk.value);
  chunk.left_in = bound_.number();
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
