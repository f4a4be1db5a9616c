// SPDX-License-Identifier: Apache-2.0
// Simulates the events of out-of-core memory: faults, completions, and their times. Part of VirtualSpill, which
// VirtualMachine owns under --memory. See virtual_spill.hpp.
#include "sim/engine/virtual_spill.hpp"

#include <algorithm>
#include <utility>

#include "transfer/spill/spill_limits.hpp"

namespace terrace::sim {

namespace {

using transfer::PageState;

}  // namespace

VirtualSpill::VirtualSpill(Parts parts) : parts_(std::move(parts)), disk_(parts_.file), due_(k_later_than_all) {
  adapt_limit();
}

transfer::PageState VirtualSpill::page_state(std::uint32_t chunk) const {
  const auto& one = chunks_[chunk];
  return transfer::page_state_of(one.state,
                                 one.fault_pending || (one.state == ChunkState::evicting && one.refault_pending));
}

void VirtualSpill::reserve(FilePages::Block block) {
  if (chunks_.size() < block.first + block.count) chunks_.resize(block.first + block.count);
  for (auto c = block.first; c < block.first + block.count; ++c) chunks_[c] = {.block = block.first};
  blocks_[block.first] = {.count = block.count};
}

Seconds VirtualSpill::release(FilePages::Block block, Seconds now) {
  run(now);
  const auto end = block.first + block.count;
  auto& known = blocks_[block.first];
  if (known.handing_over) cancel_handover(block.first);
  const auto is_under_way = [&] {
    return std::any_of(chunks_.begin() + block.first, chunks_.begin() + end,
                       [](const Chunk& one) { return one.writing || one.state == ChunkState::reading; });
  };
  while (is_under_way()) turn(k_later_than_all);
  for (auto c = block.first; c < end; ++c) {
    if (known.kernel_paged) {
      const auto first = c * k_pages_of_a_chunk;
      std::erase_if(paged_, [&](FilePage page) { return page - first < k_pages_of_a_chunk; });
      std::fill_n(pages_.begin() + first, k_pages_of_a_chunk, std::uint8_t{0});
      chunks_[c] = {};
      continue;
    }
    if (chunks_[c].state == ChunkState::evicting) std::erase(eviction_queue_, c);
    if (chunks_[c].state != ChunkState::empty && chunks_[c].state != ChunkState::swapped_out) --used_;
    empty(c);
  }
  if (known.kernel_paged) kernel_paged_ -= block.count;
  blocks_.erase(block.first);
  bound_.forget(block.first * k_pages_of_a_chunk, block.count * k_pages_of_a_chunk);
  adapt_limit();
  find_due();
  return std::max(now, time_);
}

void VirtualSpill::keep(Bytes data) {
  kept_ = data;
  adapt_limit();
}

// Adapts the limit of resident chunks: memory that pinned data or kernel paging uses is not available to them.
void VirtualSpill::adapt_limit() {
  const auto share = kernel_paged_ == 0
                         ? 0
                         : static_cast<std::uint64_t>(static_cast<double>(parts_.memory.value) *
                                                      static_cast<double>(kernel_paged_) /
                                                      static_cast<double>(kernel_paged_ + num_with_content_));
  const auto others = kept_.value + share;
  const auto rest = parts_.memory.value > others ? (parts_.memory.value - others) / k_chunk.value : 0;
  limit_ = std::max<std::size_t>(rest, transfer::spill_limits::k_min_resident);
}

// Returns the maximum number of resident pages of the kernel's size.
std::uint64_t VirtualSpill::capacity() const {
  return std::max(used_, limit_) * k_pages_of_a_chunk + (kernel_paged_ == 0 ? 0 : parts_.memory.value / 4096);
}

// --- time -------------------------------------------------------------------------------------------------------

void VirtualSpill::find_due() {
  due_ = k_later_than_all;
  if (const auto end = disk_.next_end()) due_ = std::max(*end, time_);
  if (fault_) due_ = std::min(due_, std::max(fault_->at, time_));
}

void VirtualSpill::work(Seconds cost) {
  time_ += cost / pace_;
  beside_.worked += cost;
}

// Runs one pass of Spill::run(), if it begins by then.
bool VirtualSpill::turn(Seconds until) {
  find_due();
  if (due_ > until) return false;
  if (due_ == k_later_than_all) {
    // Nothing is in flight and no fault is pending: the thread polls after a while.
    time_ += Seconds{transfer::spill_limits::k_max_poll_ms * 1e-3};
  } else {
    time_ = due_;
  }
  if (is_busy_) busy_ += time_ - looked_;
  looked_ = time_;
  drain_completions();
  if (fault_ && fault_->at <= time_) take_fault();
  step();
  if (handover_block_)
    continue_handover();
  else if (kernel_paged_ > 0)
    review_kernel_blocks();
  for (const auto& start : std::exchange(starts_, {})) disk_.start(start.write, k_chunk, start.chunk, time_);
  if (is_busy_) busy_ += time_ - looked_;
  looked_ = time_;
  is_busy_ = reads_ + writes_ > 0;
  find_due();
  return true;
}

void VirtualSpill::run(Seconds now) {
  while (due_ <= now) turn(now);
}

void VirtualSpill::drain_completions() {
  while (const auto ended = disk_.take_ended(time_)) {
    if (ended->token == k_page_read) {
      page_read_ = ended->at;
    } else if (ended->token == k_late_write) {
      --writes_;
      account_.written += k_chunk;
      beside_.read += static_cast<double>(k_chunk.value);
    } else if (ended->token != k_page_write) {
      const auto chunk = static_cast<std::uint32_t>(ended->token);
      if (chunks_[chunk].state == ChunkState::reading)
        on_read_done(chunk);
      else
        on_write_done(chunk);
    }
  }
}

Seconds VirtualSpill::touch(FilePage page, std::uint32_t thread, Seconds now) {
  const auto chunk = page / k_pages_of_a_chunk;
  const auto begun = now;
  run(now);
  const auto trap = parts_.price.trap.value_or(Seconds{});
  while (is_noticed(page)) {
    if (chunks_[chunk].is_given) {
      now = touch_given(page, now + trap);
      continue;
    }
    fault_ = waiting_ = Fault{chunk, thread, now};
    while (waiting_) turn(k_later_than_all);
    now = std::max(now, woken_);
    workers_[thread].resumed = now;
    now += trap;
  }
  account_.waited += now - begun;
  return now;
}

void VirtualSpill::stored(FilePage page, Seconds now) {
  const auto c = page / k_pages_of_a_chunk;
  auto& one = chunks_[c];
  if (one.is_given) {
    if (!is_resident(page)) return;
    bound_.store(page);
    pages_[page] |= k_stored;
    return;
  }
  const bool has_left =
      one.state == ChunkState::swapped_out || (one.state == ChunkState::evicting && (one.clean || one.writing));
  if (has_left) {
    if (one.left_in == bound_.segment()) bound_.store(page, true);
    if (one.left_written || one.writing) return;  // the write includes this store
    if (one.state == ChunkState::evicting) {
      one.clean = false;
      one.stored = true;
      return;
    }
    one.left_written = true;
    ++writes_;
    disk_.start(true, k_chunk, k_late_write, std::max(now, time_));
    find_due();
    return;
  }
  if (one.state == ChunkState::empty) return;
  if (one.state != ChunkState::reading) bound_.store(page);
  one.stored = true;
}

// --- events of chunks -------------------------------------------------------------------------------------------

void VirtualSpill::take_fault() {
  const auto [c, thread, at] = *std::exchange(fault_, std::nullopt);
  auto& chunk = chunks_[c];
  if (blocks_[chunk.block].handing_over) return;
  if (chunk.state == ChunkState::mapped) return resume_waiters(c);
  ++account_.touches;
  auto& toucher = workers_[thread];
  const auto worked = std::max(at - toucher.resumed.value_or(at), Seconds{});
  if (toucher.resumed) toucher.work.on_visit(worked);
  const bool expected = parts_.policy->on_access(c, thread, worked);
  if (!expected && chunk.state == ChunkState::swapped_out) ++num_unexpected_;
  update_prediction(at);
  if (chunk.state == ChunkState::unmapped_resident || (chunk.state == ChunkState::evicting && !chunk.writing)) {
    cancel_eviction(c);
    map_chunk(c);
    resume_waiters(c);
    ++num_soft_faults_;
    soft_fault_time_ += time_ - at;
    return;
  }
  if (chunk.state == ChunkState::swapped_out || chunk.state == ChunkState::reading) {
    note_load(c, expected, toucher.work.is_sparse());
    if (blocks_[chunk.block].handing_over) return;
  }
  if (chunk.state == ChunkState::empty || chunk.state == ChunkState::swapped_out) fault_queue_.push_back(c);
  chunk.fault_pending = true;
  notify_policy(c);
}

// See Spill::note_predicted().
void VirtualSpill::update_prediction(Seconds at) {
  transfer::SpillStatistics measured;
  measured.now = at;
  measured.kept = transfer::spill_limits::eviction_target(limit_);
  measured.room = limit_ - measured.kept;
  measured.under_way = reads_ + writes_;
  measured.written = account_.written.value / k_chunk.value;
  measured.moved = account_.read.value / k_chunk.value + measured.written;
  measured.busy = busy_;
  measured.prefetched = account_.prefetched;
  measured.demanded = account_.demanded;
  measured.unexpected = num_unexpected_;
  measured.clean = account_.clean;
  measured.served = num_soft_faults_;
  measured.serving = soft_fault_time_;
  const auto told = parts_.policy->predicted(measured);
  account_.predicted = told.predicted;
  account_.measured = told.measured;
}

// Charges half of an exchange: a chunk's page is mapped or unmapped.
void VirtualSpill::remap() {
  work(0.5 * machine::remapping_time(parts_.price, k_chunk));
  beside_.stalled += 0.5 * machine::stall_time(parts_.price, k_chunk);
}

void VirtualSpill::map_chunk(std::uint32_t c) {
  auto& chunk = chunks_[c];
  remap();
  chunk.state = ChunkState::mapped;
  chunk.clean = chunk.refault_pending = false;
  set_prefetched(c, false);
  notify_policy(c);
}

void VirtualSpill::resume_waiters(std::uint32_t c) {
  chunks_[c].fault_pending = false;
  notify_policy(c);
  if (!waiting_ || waiting_->chunk != c) return;
  waiting_.reset();
  woken_ = time_;
}

void VirtualSpill::on_read_done(std::uint32_t c) {
  auto& chunk = chunks_[c];
  --reads_;
  account_.read += k_chunk;
  beside_.written += static_cast<double>(k_chunk.value);
  chunk.state = ChunkState::unmapped_resident;
  chunk.clean = true;
  if (!chunk.fault_pending) return;
  map_chunk(c);
  resume_waiters(c);
}

void VirtualSpill::on_write_done(std::uint32_t c) {
  auto& chunk = chunks_[c];
  --writes_;
  chunk.writing = false;
  account_.written += k_chunk;
  beside_.read += static_cast<double>(k_chunk.value);
  chunk.clean = chunk.has_copy = true;
  if (!chunk.fault_pending && !chunk.refault_pending) return;
  cancel_eviction(c);
  if (!chunk.fault_pending) return;
  map_chunk(c);
  resume_waiters(c);
}

VirtualSpill::Beside VirtualSpill::take_beside() { return std::exchange(beside_, {}); }

const FileIoTotals& VirtualSpill::account() {
  const auto least = bound_.end_segment();
  account_.min_read = least.read;
  account_.min_written = least.written;
  account_.min_time = least.read / parts_.file.read + least.written / parts_.file.write;
  account_.content = Bytes{(num_with_content_ + kernel_paged_) * k_chunk.value};
  account_.limit = Bytes{limit_ * k_chunk.value};
  account_.kernel_paged = Bytes{kernel_paged_ * k_chunk.value};
  return account_;
}

}  // namespace terrace::sim
