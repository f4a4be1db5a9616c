// SPDX-License-Identifier: Apache-2.0
// Implements page table, TLBs, page walks and the queue of faults of a simulated GPU. SMs translate by it, the
// mover remaps pages in it. See page_table.hpp.
#include "gpu_sim/engine/page_table.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"

namespace terrace::gpu_sim {

PageTable::PageTable(const machine::Gpu& gpu, EventWheel& events, FaultQueue& faults)
    : gpu_(gpu),
      events_(events),
      faults_(faults),
      frames_(gpu.memories.size()),
      l1_(gpu.processors, Tlb(gpu.l1_tlb_entries)),
      l2_(gpu.l2_tlb_entries),
      walker_free_(gpu.walkers) {}

PageTable::Added PageTable::add(const Allocation& allocation, std::span<const std::uint8_t> memory_of_new,
                                bool far_mapped) {
  const auto first = allocation.address / gpu_.page_bytes;
  const auto last = (allocation.address + allocation.bytes - 1) / gpu_.page_bytes;
  Added added{size(), 0};
  for (auto number = first; number <= last; ++number) {
    if (!by_number_.emplace(number, size()).second) continue;
    auto& page = pages_.emplace_back();
    page.number = number;
    page.allocation = allocations_;
    page.memory = memory_of_new[added.count % memory_of_new.size()];
    page.frame = take_frame(page.memory);
    page.mapped = page.memory == 0 || far_mapped;
    ++added.count;
  }
  ++allocations_;
  return added;
}

std::uint32_t PageTable::find(std::uint64_t page_number) const {
  const auto found = by_number_.find(page_number);
  return found == by_number_.end() ? k_no_page : found->second;
}

void PageTable::walk(std::uint32_t processor, std::uint32_t page) {
  const auto now = events_.now();
  auto at = now + gpu_.l2_tlb_latency;
  if (l2_.look_up(pages_[page].number) == Tlb::k_unknown) {
    ++walks_;
    pages_[page].walked = true;
    auto& walker = *std::min_element(walker_free_.begin(), walker_free_.end());
    walker = std::max(walker, at) + gpu_.walk_latency;
    at = walker;
  }
  events_.schedule(at, {EventKind::translated, processor, page});
}

bool PageTable::on_translated(std::uint32_t processor, std::uint32_t page) {
  auto& entry = pages_[page];
  if (!entry.usable()) {
    waiting_.push_back({processor, page});
    if (!entry.moving && !std::exchange(entry.faulted, true)) faults_.add(page);
    return false;
  }
  entry.translated = true;
  l2_.put(entry.number, page);
  l1_[processor].put(entry.number, page);
  return true;
}

bool PageTable::unmap(std::uint32_t page) {
  auto& entry = pages_[page];
  entry.moving = true;
  return invalidate_tlbs(entry);
}

bool PageTable::protect(std::uint32_t page) {
  auto& entry = pages_[page];
  entry.mapped = false;
  return invalidate_tlbs(entry);
}

bool PageTable::invalidate_tlbs(Page& page) {
  if (!page.translated) return false;
  page.translated = false;
  l2_.forget(page.number);
  for (auto& buffer : l1_) buffer.forget(page.number);
  return true;
}

bool PageTable::count_access(std::uint32_t page, std::uint32_t touches) {
  auto& entry = pages_[page];
  ++entry.accesses;
  if (touches == 0 || entry.memory == 0 || ++entry.touches < touches) return false;
  entry.touches = 0;
  return true;
}

std::vector<std::uint32_t> PageTable::take_walked() {
  std::vector<std::uint32_t> walked;
  for (std::uint32_t page = 0; page < size(); ++page)
    if (std::exchange(pages_[page].walked, false)) walked.push_back(page);
  return walked;
}

void PageTable::set_requested_move(std::uint32_t page, std::uint8_t memory) {
  pages_[page].move_requested = true;
  pages_[page].requested_memory = memory;
}

void PageTable::unprotect(std::uint32_t page) {
  auto& entry = pages_[page];
  entry.mapped = true;
  entry.faulted = false;
  wake_waiters(page);
}

void PageTable::map(std::uint32_t page, std::uint8_t memory, std::uint32_t frame, bool mapped) {
  auto& entry = pages_[page];
  give_frame(entry.memory, entry.frame);
  entry.memory = memory;
  entry.frame = frame;
  entry.moving = false;
  entry.mapped = mapped;
  entry.faulted = false;
  wake_waiters(page);
}

// Wakes the waiters of a page: they look it up in the page table again.
void PageTable::wake_waiters(std::uint32_t page) {
  const auto still =
      std::partition(waiting_.begin(), waiting_.end(), [&](const auto& w) { return w.page != page; });
  for (auto at = still; at != waiting_.end(); ++at)
    events_.schedule(events_.now() + gpu_.walk_latency, {EventKind::translated, at->processor, page});
  waiting_.erase(still, waiting_.end());
}

std::uint32_t PageTable::take_frame(std::uint8_t memory) {
  auto& frames = frames_[memory];
  if (frames.free.empty()) return frames.next++;
  const auto frame = frames.free.back();
  frames.free.pop_back();
  return frame;
}

std::uint64_t PageTable::used_bytes(std::uint8_t memory) const {
  const auto& frames = frames_[memory];
  return (frames.next - frames.free.size()) * gpu_.page_bytes;
}

void FaultQueue::add(std::uint32_t page) {
  queue_.push_back(page);
  ++counts_.faults;
  if (batch_.empty()) begin_batch();
}

// Takes the next batch of faults and schedules the end of its handling.
void FaultQueue::begin_batch() {
  const auto count = std::min<std::size_t>(queue_.size(), gpu_.fault_batch);
  if (count == 0) return;
  batch_.assign(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
  ++counts_.batches;
  events_.schedule(events_.now() + gpu_.fault, {EventKind::faults, 0, 0});
}

std::vector<std::uint32_t> FaultQueue::take_batch() {
  auto batch = std::exchange(batch_, {});
  begin_batch();
  return batch;
}

}  // namespace terrace::gpu_sim
