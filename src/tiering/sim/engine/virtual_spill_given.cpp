// SPDX-License-Identifier: Apache-2.0
// Hands blocks of out-of-core memory over to kernel paging in virtual time, as
// transfer/spill/spill_kernel_paged.cpp does. Part of VirtualSpill; see virtual_spill.hpp.
#include <algorithm>

#include "sim/engine/virtual_spill.hpp"
#include "transfer/spill/spill_limits.hpp"

namespace terrace::sim {

namespace limits = transfer::spill_limits;

// Counts a wait for a chunk from the file, which may be in flight already. Begins to hand its block over to kernel
// paging if the counts of the block say that this is faster.
void VirtualSpill::note_load(std::uint32_t c, bool expected, bool sparse) {
  auto& block = blocks_[chunks_[c].block];
  if (block.use.is_fresh()) block.seen = seen();
  auto& heap = heap_of(chunks_[c].block);
  const auto count = [&](transfer::BlockUse& use) {
    if (chunks_[c].state == ChunkState::swapped_out) use.on_load(expected);
    use.on_wait(sparse);
  };
  count(block.use);
  if (transfer::BlockUse::is_piece(block.count)) count(heap);
  if (!block.use.prefers_kernel_paging(heap, block.count) || handover_block_) return;
  block.handing_over = true;
  handover_block_ = chunks_[c].block;
  handover_since_ = time_;
}

// Continues a hand-over: all of the block goes to the file, then it is under kernel paging. A thread that accesses
// it meanwhile waits.
void VirtualSpill::continue_handover() {
  const auto first = *handover_block_;
  auto& block = blocks_[first];
  bool all = true;
  for (auto c = first; c < first + block.count; ++c) {
    auto& chunk = chunks_[c];
    if (chunk.state == ChunkState::mapped || chunk.state == ChunkState::unmapped_resident) begin_eviction(c);
    if (chunk.state == ChunkState::evicting && chunk.clean && !chunk.writing) {
      std::erase(eviction_queue_, c);
      set_prefetched(c, false);
      --used_;
      chunk.state = ChunkState::swapped_out;
      chunk.clean = chunk.fault_pending = chunk.refault_pending = false;
      notify_policy(c);
    }
    all = all && (chunk.state == ChunkState::empty || chunk.state == ChunkState::swapped_out);
  }
  if (!all) {
    if (time_ - handover_since_ <= Seconds{1e-9 * static_cast<double>(limits::k_max_handover_ns)}) return;
    block.use.back_off(1);
    cancel_handover(first);
    return;
  }
  pages_.resize(chunks_.size() * k_pages_of_a_chunk, 0);
  for (auto c = first; c < first + block.count; ++c) {
    if (chunks_[c].state == ChunkState::swapped_out)
      std::fill_n(pages_.begin() + std::ptrdiff_t{c} * k_pages_of_a_chunk, k_pages_of_a_chunk, k_content);
    empty(c);
    chunks_[c].is_given = true;
  }
  constexpr auto k_first_period = 1e-9 * static_cast<double>(limits::k_min_period_ns);
  block.handing_over = false;
  block.kernel_paged = true;
  block.since = time_;
  block.period = block.period.value > 0 ? 2 * block.period : Seconds{k_first_period};
  if (block.use.is_irregular(heap_of(first), block.count))
    block.trial.end();
  else
    block.trial.begin(seen(), block.seen, seen());
  kernel_paged_ += block.count;
  handover_block_.reset();
  adapt_limit();
  waiting_.reset();  // its thread waited for this block
  woken_ = time_;
}

// Cancels the hand-over; waiting threads are served.
void VirtualSpill::cancel_handover(std::uint32_t first) {
  handover_block_.reset();
  auto& block = blocks_[first];
  block.handing_over = false;
  block.use.reset();
  if (!waiting_ || chunks_[waiting_->chunk].block != first) return;
  const auto c = waiting_->chunk;
  auto& chunk = chunks_[c];
  if (chunk.state == ChunkState::mapped) return resume_waiters(c);
  if (chunk.state == ChunkState::unmapped_resident || (chunk.state == ChunkState::evicting && !chunk.writing)) {
    cancel_eviction(c);
    map_chunk(c);
    return resume_waiters(c);
  }
  if (chunk.state == ChunkState::empty || chunk.state == ChunkState::swapped_out) fault_queue_.push_back(c);
  chunk.fault_pending = true;
  notify_policy(c);
}

// The program works while it does not wait.
transfer::PageTrial::Sample VirtualSpill::seen() const { return {page_waits_, time_ - account_.waited, time_}; }

// Reclaims blocks from kernel paging after a while, because programs change their behaviour: they become chunks
// again, all of them in the file. A block that is still accessed in no order is handed over once more. A block
// that was handed over because little of each chunk was used stays under kernel paging as long as few of its pages
// are read.
void VirtualSpill::review_kernel_blocks() {
  for (auto& [first, block] : blocks_) {
    const auto since = time_ - block.since;
    if (!block.kernel_paged || since <= 0.5 * block.period) continue;
    if (block.trial.is_running() && !block.trial.has_midpoint()) block.trial.set_midpoint(seen());
    if (since <= block.period) continue;
    if (block.trial.is_running()) {
      if (const auto end = seen(); block.trial.is_passed(end)) {
        block.since = time_;
        block.period = 2 * block.period;
        block.trial.restart(end);
        continue;
      }
      block.use.back_off(limits::k_refusals_per_failed_trial);
      block.period = {};
    }
    return reclaim_from_kernel(first, block);
  }
}

void VirtualSpill::reclaim_from_kernel(std::uint32_t first, Block& block) {
  block.since = time_;
  block.kernel_paged = false;
  block.use.reset();
  kernel_paged_ -= block.count;
  num_with_content_ += block.count;
  const auto is_in = [&](FilePage page) { return page / k_pages_of_a_chunk - first < block.count; };
  for (const auto page : paged_)
    if (is_in(page)) forget_page(page);
  std::erase_if(paged_, is_in);
  for (auto c = first; c < first + block.count; ++c) {
    chunks_[c] = {.state = ChunkState::swapped_out, .block = first};
    notify_policy(c);
  }
  adapt_limit();
}

// Evicts a page; stores to it go to the file.
void VirtualSpill::forget_page(FilePage page) {
  auto& one = pages_[page];
  if ((one & k_stored) != 0) {
    disk_.start(true, Bytes{4096}, k_page_write, time_);
    account_.written += Bytes{4096};
  }
  one &= static_cast<std::uint8_t>(~(k_resident | k_stored));
}

// Reads a page alone, for the accessing thread.
Seconds VirtualSpill::touch_given(FilePage page, Seconds now) {
  if ((pages_[page] & k_content) != 0) {
    page_read_.reset();
    disk_.start(false, Bytes{4096}, k_page_read, now);
    find_due();
    while (!page_read_) turn(k_later_than_all);
    account_.read += Bytes{4096};
    const auto begun = now;
    now = std::max(now, *page_read_);
    page_waits_ += now - begun;
    if (!chunks_[page / k_pages_of_a_chunk].is_given) return now;  // the block was reclaimed meanwhile
  } else {
    pages_[page] |= k_stored;  // the first access to memory without content writes it
  }
  pages_[page] |= k_resident | k_content;
  paged_.push_back(page);
  shrink_kernel_paged();
  find_due();
  return now;
}

// Evicts in first-in, first-out order. The kernel's own order differs, but accesses to these pages have no order.
void VirtualSpill::shrink_kernel_paged() {
  const auto share = static_cast<std::uint64_t>(static_cast<double>(parts_.memory.value) / 4096 *
                                                static_cast<double>(kernel_paged_) /
                                                static_cast<double>(kernel_paged_ + num_with_content_));
  for (; paged_.size() > std::max<std::uint64_t>(share, 1); paged_.pop_front()) forget_page(paged_.front());
}

}  // namespace terrace::sim
