// What shall happen to spilled chunks: which come in, which leave. See spill.hpp.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "transfer/spill/spill.hpp"
#include "transfer/spill/spill_limits.hpp"

namespace terrace::transfer {

namespace {

using spill_limits::k_grace;
using spill_limits::k_marks;
using spill_limits::k_reads;
using spill_limits::k_reserve;
using spill_limits::k_writes;

const std::byte* content(std::uint64_t address) {
  return reinterpret_cast<const std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}

bool is_zero(const std::byte* data, std::size_t size) {
  return data[0] == std::byte{} && std::memcmp(data, data + 1, size - 1) == 0;
}

}  // namespace

void Spill::step() noexcept {
  if (is_called_ && call_.what == Call::What::fork) {  // it waits for what is under way, and for a few chunks
    if (!bring_at_once()) serve(true);
    return disk_->submit();
  }
  serve(false);
  make_room();
  check_leaving();
  give_pages_back();
  serve(false);
  if (giving_since_ == 0) look_ahead();  // it would read what is being given
  set_marks();
  // What nobody else can give a page to.
  if (!needy_.empty() && reads_ + writes_ == 0 && leaving_.empty()) serve(true);
  disk_->submit();
}

// Pages for who waits.
void Spill::serve(bool forced) noexcept {
  for (auto left = needy_.size(); left > 0; --left) {
    const auto c = needy_.front();
    auto& chunk = chunks_[c];
    if (chunk.where == Where::ready) {
      needy_.erase(needy_.begin());
      map(c);
      resume(c);
      continue;
    }
    if (chunk.where == Where::disk && disk_->room() == 0) return;
    const auto slot = obtain(forced);
    if (slot == SpillPool::k_none) return;
    needy_.erase(needy_.begin());
    if (chunk.where == Where::disk) {
      counts_->demanded.fetch_add(1, std::memory_order_relaxed);
      start_read(c, slot);
      continue;
    }
    pool_->clear(slot);
    chunk.slot = slot;
    ++content_;
    map(c);
    resume(c);
  }
}

// A slot with a page that nobody needs: a free one, or that of the chunk that has waited longest to leave and may.
Spill::Slot Spill::free_slot() noexcept {
  if (const auto slot = pool_->take(false); slot != SpillPool::k_none) return slot;
  const auto found = std::ranges::find_if(leaving_, [&](ChunkId c) {
    const auto& chunk = chunks_[c];
    return chunk.clean && !chunk.writing && !chunk.wanted && !chunk.rescued;
  });
  if (found == leaving_.end()) return SpillPool::k_none;
  const auto c = *found;
  auto& chunk = chunks_[c];
  if (chunk.foreseen) counts_->wasted.fetch_add(1, std::memory_order_relaxed);
  chunk.where = Where::disk;
  chunk.clean = false;
  chunk.gone = ++departures_;
  is_foreseen(c, false);
  tell(c);
  leaving_.erase(found);
  pool_->give(chunk.slot);  // its page is not new any more
  return pool_->take(false);
}

// The same, and one beyond the limit where that is forced.
Spill::Slot Spill::obtain(bool forced) noexcept {
  const auto slot = free_slot();
  if (slot != SpillPool::k_none || !forced) return slot;
  const auto more = pool_->take(true);
  if (more != SpillPool::k_none && pool_->pages() > pool_->limit()) note_over(pool_->pages() - allowed_);
  return more;
}

void Spill::start_read(ChunkId c, Slot slot) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.where == Where::disk) note_return(departures_ - chunk.gone);
  chunk.where = Where::reading;
  chunk.slot = slot;
  tell(c);
  ++reads_;
  disk_->start({false, pool_->address(slot), offset(c), k_chunk, c});
}

// What is used soonest of what is on disk comes in, as long as there are pages for it.
void Spill::look_ahead() noexcept {
  while (reads_ < k_reads && foreseen_ < pool_->limit() / 2 && disk_->room() > k_writes) {
    const auto next = foresight_->next_load();
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
    if (pool_->free() + clean_leaving() <= k_reserve) return;
    const auto slot = obtain(false);
    if (slot == SpillPool::k_none) return;
    counts_->foreseen.fetch_add(1, std::memory_order_relaxed);
    start_read(next->chunk, slot);
    is_foreseen(next->chunk, true);
  }
}

// Who touches these says how far the program is.
void Spill::set_marks() noexcept {
  if (content_ <= pool_->limit() || !pool_->has_slot()) return;
  for (std::size_t set = 0; set < k_marks; ++set) {
    const auto mark = foresight_->next_mark();
    if (!mark) return;
    auto& chunk = chunks_[*mark];
    if (chunk.where != Where::quiet || chunk.stays || chunk.wanted) continue;
    const auto slot = pool_->fetch(place(*mark));
    if (slot == SpillPool::k_none) continue;
    chunk.slot = slot;
    chunk.where = Where::ready;
    chunk.clean = false;
    tell(*mark);
  }
}

// Chunks leave their place before their pages are needed: what is used last, and not before what would come in.
void Spill::make_room() noexcept {
  if (content_ + needy_.size() <= pool_->limit() && pool_->pages() <= pool_->limit()) return;
  ask_for_room();
  const auto over = pool_->pages() > pool_->limit() ? pool_->pages() - pool_->limit() : 0;
  const auto wanted = spill_limits::kept(pool_->limit()) + needy_.size() + over;
  while (pool_->free() + leaving_.size() < wanted && pool_->has_slot()) {
    const auto victim = foresight_->next_victim();
    if (!victim) return;
    if (needy_.empty() && over == 0) {
      const auto load = foresight_->next_load();
      if (load && victim->when <= load->when) return;
    }
    send_away(victim->chunk);
  }
}

// Those beyond the limit, as soon as the file has what is in them.
void Spill::give_pages_back() noexcept {
  while (pool_->pages() > pool_->limit()) {
    const auto slot = free_slot();
    if (slot == SpillPool::k_none) return;
    pool_->give(slot);
    pool_->shrink();
  }
}

bool Spill::send_away(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.stays || chunk.wanted) return false;
  if (chunk.where == Where::quiet) {
    const auto slot = pool_->fetch(place(c));
    if (slot == SpillPool::k_none) return false;  // a device holds it, or a child has it too
    chunk.slot = slot;
    chunk.clean = false;
  } else if (chunk.where != Where::ready) {
    return false;
  }
  chunk.where = Where::leaving;
  chunk.rescued = false;
  leaving_.push_back(c);
  tell(c);
  return true;
}

void Spill::is_foreseen(ChunkId c, bool value) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.foreseen == value) return;
  chunk.foreseen = value;
  foreseen_ += value ? 1 : std::size_t(-1);
}

// Not to leave any more; it is in its slot.
void Spill::take_back(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.where == Where::leaving) {
    std::erase(leaving_, c);
    if (chunk.clean) note_return(0);
  }
  chunk.where = Where::ready;
  chunk.rescued = false;
  tell(c);
}

std::size_t Spill::clean_leaving() const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(leaving_, [&](ChunkId c) {
    return chunks_[c].clean && !chunks_[c].writing && !chunks_[c].wanted && !chunks_[c].rescued;
  }));
}

// What leaves is compared with what the file has, and written where that is something else.
void Spill::check_leaving() noexcept {
  const bool is_short = pool_->free() + clean_leaving() <= k_reserve || !needy_.empty();
  const auto grace = is_short ? 0 : k_grace;
  const auto until = giving_since_ > 0 ? 0 : grace;
  for (std::size_t i = 0; i + until < leaving_.size();) {
    const auto c = leaving_[i];
    const auto& chunk = chunks_[c];
    if (chunk.clean || chunk.writing) {
      ++i;
      continue;
    }
    if (writes_ >= k_writes || disk_->room() == 0) return;
    if (check(c)) ++i;
  }
}

// False: it leaves no more, because it has no content.
bool Spill::check(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  const auto* const data = content(pool_->address(chunk.slot));
  if (is_zero(data, k_chunk)) {
    std::erase(leaving_, c);
    pool_->give(chunk.slot);
    is_foreseen(c, false);
    leave_place(c);
    chunk = {};
    tell(c);
    --content_;
    return false;
  }
  const auto digest = XXH3_128bits(data, k_chunk);
  const Hash hash{digest.low64, digest.high64};
  if (chunk.has_copy && hash == chunk.hash) {
    counts_->clean.fetch_add(1, std::memory_order_relaxed);
    chunk.clean = true;
    return true;
  }
  find_place(c);
  chunk.hash = hash;
  chunk.has_copy = false;
  chunk.writing = true;
  ++writes_;
  disk_->start({true, pool_->address(chunk.slot), offset(c), k_chunk, c});
  return true;
}

}  // namespace terrace::transfer
