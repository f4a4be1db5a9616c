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
  serve(false);
  make_room();
  check_leaving();
  give_pages_back();
  serve(false);
  if (!giving_) look_ahead();
  set_marks();
  // What nobody else can give a page to.
  if (!needy_.empty() && reads_ + writes_ == 0 && leaving_.empty()) serve(true);
}

std::size_t VirtualSpill::room() const {
  const auto taken = reads_ + writes_;
  return taken < transfer::k_disk_requests ? transfer::k_disk_requests - taken : 0;
}

// Pages for who waits.
void VirtualSpill::serve(bool forced) {
  for (auto left = needy_.size(); left > 0; --left) {
    const auto c = needy_.front();
    auto& chunk = chunks_[c];
    if (chunk.where == Where::disk && room() == 0) return;
    if (!obtain(forced)) return;
    needy_.pop_front();
    if (chunk.where == Where::disk) {
      ++account_.demanded;
      start_read(c);
      continue;
    }
    // New pages are zero; those that had other content are made so.
    if (!is_new_) {
      work(k_chunk / parts_.stream);
      beside_.written += static_cast<double>(k_chunk.value);
    }
    ++content_;
    account_.most = std::max(account_.most, Bytes{(content_ + given_) * k_chunk.value});
    chunk.stored = true;  // who touches memory without content writes it
    map(c);
    resume(c);
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
  const auto found = std::ranges::find_if(leaving_, [&](std::uint32_t c) {
    const auto& chunk = chunks_[c];
    return chunk.clean && !chunk.writing && !chunk.wanted && !chunk.rescued;
  });
  if (found == leaving_.end()) return false;
  const auto c = *found;
  auto& chunk = chunks_[c];
  if (chunk.foreseen) ++account_.wasted;
  chunk.where = Where::disk;
  chunk.clean = false;
  is_foreseen(c, false);
  tell(c);
  leaving_.erase(found);
  return true;
}

// The same, and one beyond the limit where that is forced.
bool VirtualSpill::obtain(bool forced) {
  if (free_page()) return true;
  used_ += forced ? 1 : 0;
  return forced;
}

// Those beyond the limit, as soon as the file has what is in them.
void VirtualSpill::give_pages_back() {
  while (used_ > limit_ && free_page()) --used_;
}

void VirtualSpill::start_read(std::uint32_t c) {
  chunks_[c].where = Where::reading;
  tell(c);
  ++reads_;
  starts_.push_back({false, c});
}

// What is used soonest of what is on disk comes in, as long as there are pages for it.
void VirtualSpill::look_ahead() {
  while (reads_ < limits::k_reads && foreseen_ < limit_ / 2 && room() > limits::k_writes) {
    const auto next = parts_.foresight->next_load();
    if (!next) return;
    auto& chunk = chunks_[next->chunk];
    if (chunk.where == Where::leaving) {
      if (chunk.writing) {
        chunk.rescued = true;
        tell(next->chunk);
      } else {
        take_back(next->chunk);
      }
      continue;
    }
    if (free() + clean_leaving() <= limits::k_reserve) return;
    if (!obtain(false)) return;
    ++account_.foreseen;
    start_read(next->chunk);
    is_foreseen(next->chunk, true);
  }
}

// Who touches these says how far the program is.
void VirtualSpill::set_marks() {
  if (content_ <= limit_) return;
  for (std::size_t set = 0; set < limits::k_marks; ++set) {
    const auto mark = parts_.foresight->next_mark();
    if (!mark) return;
    auto& chunk = chunks_[*mark];
    if (chunk.where != Where::quiet || chunk.wanted) continue;
    remap();
    chunk.where = Where::ready;
    chunk.clean = false;
    tell(*mark);
  }
}

// Chunks leave their place before their pages are needed: what is used last, and not before what would come in.
void VirtualSpill::make_room() {
  if (content_ + needy_.size() <= limit_ && used_ <= limit_) return;
  const auto over = used_ > limit_ ? used_ - limit_ : 0;
  const auto wanted = limits::kept(limit_) + needy_.size() + over;
  while (free() + leaving_.size() < wanted) {
    const auto victim = parts_.foresight->next_victim();
    if (!victim) return;
    if (needy_.empty() && over == 0) {
      const auto load = parts_.foresight->next_load();
      if (load && victim->when <= load->when) return;
    }
    send_away(victim->chunk);
  }
}

bool VirtualSpill::send_away(std::uint32_t c) {
  auto& chunk = chunks_[c];
  if (chunk.wanted) return false;
  if (chunk.where == Where::quiet) {
    remap();
    chunk.clean = false;
  } else if (chunk.where != Where::ready) {
    return false;
  }
  chunk.where = Where::leaving;
  chunk.rescued = chunk.left_written = false;
  leaving_.push_back(c);
  tell(c);
  return true;
}

void VirtualSpill::is_foreseen(std::uint32_t c, bool value) {
  auto& chunk = chunks_[c];
  if (chunk.foreseen == value) return;
  chunk.foreseen = value;
  foreseen_ += value ? 1 : std::size_t(-1);
}

// Not to leave any more; it is in memory beside its place.
void VirtualSpill::take_back(std::uint32_t c) {
  auto& chunk = chunks_[c];
  if (chunk.where == Where::leaving) std::erase(leaving_, c);
  chunk.where = Where::ready;
  chunk.rescued = false;
  tell(c);
}

// It has no content any more.
void VirtualSpill::empty(std::uint32_t c) {
  is_foreseen(c, false);
  if (chunks_[c].where != Where::fresh) --content_;
  chunks_[c] = {.block = chunks_[c].block};
  tell(c);
}

std::size_t VirtualSpill::clean_leaving() const {
  return static_cast<std::size_t>(std::ranges::count_if(leaving_, [&](std::uint32_t c) {
    return chunks_[c].clean && !chunks_[c].writing && !chunks_[c].wanted && !chunks_[c].rescued;
  }));
}

// What leaves is compared with what the file has, and written where that is something else.
void VirtualSpill::check_leaving() {
  const bool is_short = free() + clean_leaving() <= limits::k_reserve || !needy_.empty();
  const auto until = giving_ || is_short ? 0 : limits::k_grace;
  for (std::size_t i = 0; i + until < leaving_.size(); ++i) {
    const auto c = leaving_[i];
    if (chunks_[c].clean || chunks_[c].writing) continue;
    if (writes_ >= limits::k_writes || room() == 0) return;
    check(c);
  }
}

void VirtualSpill::check(std::uint32_t c) {
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
