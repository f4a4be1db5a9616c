// SPDX-License-Identifier: Apache-2.0
// Queues moves of pages on a simulated GPU, unmaps, copies and maps the pages, and stalls the SMs for shootdowns.
// Placements and the simulator's events call it. See page_mover.hpp.
#include "gpu_sim/engine/page_mover.hpp"

#include <algorithm>
#include <utility>

#include "gpu_sim/engine/page_placement.hpp"

namespace terrace::gpu_sim {

PageMover::PageMover(const machine::Gpu& gpu, EventWheel& events, MemorySide& memory, PageTable& pages,
                     PagePlacement& placement, SetStalled set_sms_stalled, std::vector<std::uint64_t> capacity)
    : gpu_(gpu),
      events_(events),
      memory_(memory),
      pages_(pages),
      placement_(placement),
      set_sms_stalled_(std::move(set_sms_stalled)),
      capacity_(std::move(capacity)),
      far_mapped_(!placement.faults_on_far_access()),
      leaving_(gpu.memories.size()),
      limit_(gpu.page_copies) {}

void PageMover::request_move_from(Cycle at, std::uint32_t page, std::uint8_t memory) {
  if (!pages_[page].move_requested) queue_.push_back({page, at});
  pages_.set_requested_move(page, memory);
}

void PageMover::set_max_concurrent(std::uint32_t pages) {
  limit_ = pages;
  if (limit_ != 0) return;
  for (const auto& asked : queue_) cancel_move(asked.page);
}

void PageMover::resolve_faults(std::span<const std::uint32_t> pages) {
  for (const auto number : pages)
    if (const auto& page = pages_[number]; !page.moving && (!page.move_requested || limit_ == 0))
      cancel_move(number);
  start_moves();
}

void PageMover::protect(std::span<const std::uint32_t> pages) {
  bool known = false;
  for (const auto page : pages) {
    if (!pages_[page].usable()) continue;
    known = pages_.protect(page) || known;
    ++counts_.forbidden_pages;
  }
  if (known) stall_for_shootdown();
}

// Maps a page that faulted where it is, because its move is cancelled: waiting accesses go there.
void PageMover::cancel_move(std::uint32_t page) {
  if (pages_[page].faulted) pages_.unprotect(page);
}

void PageMover::start_moves() {
  while (active_ < limit_ && !queue_.empty()) {
    const auto [number, from] = queue_.front();
    if (from > events_.now()) {
      if (std::exchange(next_start_at_, from) != from) events_.schedule(from, {EventKind::moves, 0, 0});
      return;
    }
    const auto& page = pages_[number];
    const auto memory = page.requested_memory;
    const bool wanted = !page.moving && page.memory != memory;
    const bool has_capacity = pages_.used_bytes(memory) + gpu_.page_bytes <= capacity_[memory];
    if (wanted && !has_capacity && leaving_[memory] != 0) return;
    queue_.pop_front();
    pages_.clear_requested_move(number);
    if (wanted && has_capacity) {
      begin(number, memory);
    } else if (!page.moving) {
      cancel_move(number);
      if (!wanted) continue;
      ++counts_.refused;
      placement_.on_move_rejected(number);
    }
  }
}

// Begins a move: unmaps the page, and copies it once no access to it is in flight.
void PageMover::begin(std::uint32_t page, std::uint8_t memory) {
  ++active_;
  ++leaving_[pages_[page].memory];
  PageMove move;
  move.page = page;
  move.memory = memory;
  move.frame = pages_.take_frame(memory);
  move.lines = static_cast<std::uint32_t>(gpu_.page_bytes / k_line_bytes);
  const bool known = pages_.unmap(page);
  const bool drains = pages_[page].in_flight != 0;
  move.stalls_sms = known && drains && gpu_.shootdown_drains;
  const auto number = moves_.add(move);
  if (move.stalls_sms) ++undrained_shootdowns_;
  if (known)
    stall_for_shootdown();
  else
    ++counts_.without_shootdown;
  if (drains)
    undrained_.push_back(number);
  else
    copy(number);
}

void PageMover::stall_for_shootdown() {
  if (!stopped_) {
    stopped_ = true;
    stalled_at_ = events_.now();
    stalled_until_ = events_.now();
    set_sms_stalled_(true);
  }
  ++pending_shootdowns_;
  schedule_resume();
}

// Schedules the end of the stall. Shootdowns are sequential; with draining, they begin once all their pages are
// drained.
void PageMover::schedule_resume() {
  if (undrained_shootdowns_ != 0) return;
  stalled_until_ = std::max(stalled_until_, events_.now()) + std::uint64_t{pending_shootdowns_} * gpu_.shootdown;
  pending_shootdowns_ = 0;
  events_.schedule(stalled_until_, {EventKind::resume, 0, 0});
}

void PageMover::on_resume() {
  if (!stopped_ || events_.now() < stalled_until_ || undrained_shootdowns_ != 0 || pending_shootdowns_ != 0)
    return;
  stopped_ = false;
  counts_.stopped_cycles += events_.now() - stalled_at_;
  set_sms_stalled_(false);
}

void PageMover::on_drained(std::uint32_t page) {
  const auto found = std::find_if(undrained_.begin(), undrained_.end(),
                                  [&](std::uint32_t move) { return moves_[move].page == page; });
  if (found == undrained_.end()) return;
  const auto number = *found;
  undrained_.erase(found);
  if (moves_[number].stalls_sms) {
    --undrained_shootdowns_;
    schedule_resume();
  }
  copy(number);
}

// Flushes the page from the L2 slices and reads all of its lines.
void PageMover::copy(std::uint32_t number) {
  const auto page = pages_[moves_[number].page];
  const auto frame = std::uint64_t{page.frame} * gpu_.page_bytes;
  memory_.flush_frame(page.memory, frame, gpu_.page_bytes);
  for (std::uint64_t offset = 0; offset < gpu_.page_bytes; offset += k_line_bytes)
    memory_.copy_line(page.memory, frame + offset, false, lines_.add({number, offset}));
}

void PageMover::on_line_read(std::uint32_t line) {
  const auto& move = moves_[lines_[line].move];
  events_.schedule(memory_.cross_links(pages_[move.page].memory, move.memory), {EventKind::copy, 0, line});
}

void PageMover::on_line_crossed(std::uint32_t line) {
  const auto& move = moves_[lines_[line].move];
  memory_.copy_line(move.memory, std::uint64_t{move.frame} * gpu_.page_bytes + lines_[line].offset, true, line);
}

// Counts a line that arrived; the last one maps the page at its new memory.
void PageMover::on_line_written(std::uint32_t line) {
  const auto number = lines_[line].move;
  lines_.release(line);
  auto& move = moves_[number];
  if (--move.lines != 0) return;
  const auto page = move.page;
  --leaving_[pages_[page].memory];
  pages_.map(page, move.memory, move.frame, move.memory == 0 || far_mapped_);
  moves_.release(number);
  --active_;
  ++counts_.moved_pages;
  pages_.reset_touches(page);
  placement_.on_moved(page, pages_[page].memory);
  start_moves();
}

}  // namespace terrace::gpu_sim
