// Pages on their way. See page_mover.hpp.
#include "gpu_sim/engine/page_mover.hpp"

#include <algorithm>
#include <utility>

namespace terrace::gpu_sim {

PageMover::PageMover(const machine::Gpu& gpu, EventWheel& events, MemorySide& memory, PageTable& pages,
                     MoverListener& listener, std::vector<std::uint64_t> capacity, bool far_mapped)
    : gpu_(gpu),
      events_(events),
      memory_(memory),
      pages_(pages),
      listener_(listener),
      capacity_(std::move(capacity)),
      far_mapped_(far_mapped),
      leaving_(gpu.memories.size()),
      limit_(gpu.page_copies) {}

void PageMover::ask_from(Cycle at, std::uint32_t page, std::uint8_t memory) {
  if (!pages_[page].asked) queue_.push_back({page, at});
  pages_.ask(page, memory);
}

void PageMover::limit(std::uint32_t pages) {
  limit_ = pages;
  if (limit_ != 0) return;
  for (const auto& asked : queue_) stays(asked.page);
}

void PageMover::settle(std::span<const std::uint32_t> pages) {
  for (const auto number : pages)
    if (const auto& page = pages_[number]; !page.moving && (!page.asked || limit_ == 0)) stays(number);
  start();
}

void PageMover::forbid(std::span<const std::uint32_t> pages) {
  bool known = false;
  for (const auto page : pages) {
    if (!pages_[page].usable()) continue;
    known = pages_.forbid(page) || known;
    ++counts_.forbidden_pages;
  }
  if (known) stand_still();
}

// The move does not take place: who waits accesses the page where it is.
void PageMover::stays(std::uint32_t page) {
  if (pages_[page].faulted) pages_.allow(page);
}

void PageMover::start() {
  while (active_ < limit_ && !queue_.empty()) {
    const auto [number, from] = queue_.front();
    if (from > events_.now()) {
      if (std::exchange(wakes_at_, from) != from) events_.at(from, {EventKind::moves, 0, 0});
      return;
    }
    const auto& page = pages_[number];
    const auto memory = page.asked_for;
    const bool wanted = !page.moving && page.memory != memory;
    const bool room = pages_.used_bytes(memory) + gpu_.page_bytes <= capacity_[memory];
    if (wanted && !room && leaving_[memory] != 0) return;
    queue_.pop_front();
    pages_.drop_ask(number);
    if (wanted && room) {
      begin(number, memory);
    } else if (!page.moving) {
      stays(number);
      if (!wanted) continue;
      ++counts_.refused;
      listener_.stayed(number);
    }
  }
}

void PageMover::begin(std::uint32_t page, std::uint8_t memory) {
  ++active_;
  ++leaving_[pages_[page].memory];
  Move move;
  move.page = page;
  move.memory = memory;
  move.frame = pages_.take_frame(memory);
  move.lines = static_cast<std::uint32_t>(gpu_.page_bytes / k_line_bytes);
  const bool known = pages_.unmap(page);
  const bool drains = pages_[page].in_flight != 0;
  move.holds_up = known && drains && gpu_.shootdown_drains;
  const auto number = moves_.add(move);
  if (move.holds_up) ++undrained_shootdowns_;
  if (known)
    stand_still();
  else
    ++counts_.without_shootdown;
  if (drains)
    undrained_.push_back(number);
  else
    copy(number);
}

void PageMover::stand_still() {
  if (!stopped_) {
    stopped_ = true;
    stopped_at_ = events_.now();
    stopped_until_ = events_.now();
    listener_.stop_all();
  }
  ++interruptions_;
  interrupt();
}

// One interruption after the other, each once the pages of all are drained, if the machine drains.
void PageMover::interrupt() {
  if (undrained_shootdowns_ != 0) return;
  stopped_until_ = std::max(stopped_until_, events_.now()) + std::uint64_t{interruptions_} * gpu_.shootdown;
  interruptions_ = 0;
  events_.at(stopped_until_, {EventKind::go_on, 0, 0});
}

void PageMover::on_go_on() {
  if (!stopped_ || events_.now() < stopped_until_ || undrained_shootdowns_ != 0 || interruptions_ != 0) return;
  stopped_ = false;
  counts_.stopped_cycles += events_.now() - stopped_at_;
  listener_.go_on_all();
}

void PageMover::drained(std::uint32_t page) {
  const auto found = std::find_if(undrained_.begin(), undrained_.end(),
                                  [&](std::uint32_t move) { return moves_[move].page == page; });
  if (found == undrained_.end()) return;
  const auto number = *found;
  undrained_.erase(found);
  if (moves_[number].holds_up) {
    --undrained_shootdowns_;
    interrupt();
  }
  copy(number);
}

void PageMover::copy(std::uint32_t number) {
  const auto page = pages_[moves_[number].page];
  const auto frame = std::uint64_t{page.frame} * gpu_.page_bytes;
  memory_.drop(page.memory, frame, gpu_.page_bytes);
  for (std::uint64_t offset = 0; offset < gpu_.page_bytes; offset += k_line_bytes)
    memory_.move(page.memory, frame + offset, false, lines_.add({number, offset}));
}

void PageMover::line_read(std::uint32_t line) {
  const auto& move = moves_[lines_[line].move];
  events_.at(memory_.crosses(pages_[move.page].memory, move.memory), {EventKind::copy, 0, line});
}

void PageMover::line_crossed(std::uint32_t line) {
  const auto& move = moves_[lines_[line].move];
  memory_.move(move.memory, std::uint64_t{move.frame} * gpu_.page_bytes + lines_[line].offset, true, line);
}

void PageMover::line_written(std::uint32_t line) {
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
  listener_.moved(page);
  start();
}

}  // namespace terrace::gpu_sim
