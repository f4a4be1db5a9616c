// How many chunks may be in memory. See spill.hpp.
#include <algorithm>
#include <utility>

#include "transfer/spill/spill.hpp"
#include "transfer/spill/spill_limits.hpp"
#include "transfer/spill/spill_system.hpp"

namespace terrace::transfer {

namespace {

constexpr std::uint64_t k_margin = 8ULL << 20;  // of memory that the process takes beside what it shows
using spill_limits::k_min;

}  // namespace

// What the process has in memory beside chunks is not theirs.
void Spill::adapt_limit() noexcept {
  adapted_ = steady_ns();
  const auto [all, of_files] = resident();
  if (given_ == 0) mapped_ = of_files;
  const auto of_given = of_files > mapped_ ? of_files - mapped_ : 0;
  const auto chunks = pool_->pages() * k_chunk + of_given;
  const auto stays = k_margin + (all > chunks ? all - chunks : 0);
  // What stays may alone be more than is allowed.
  beside_ = stays > parts_.memory.value + k_margin ? stays - k_margin - parts_.memory.value : 0;
  const auto others = stays + shrink_given(of_given, stays);
  rest_ = parts_.memory.value > others ? (parts_.memory.value - others) / k_chunk : 0;
  max_floor_ = std::max<std::size_t>(stays / k_chunk, k_min);
  if (rest_ >= floor_) floor_ = k_min;
  set_limit();
  pool_->shrink();
  if (beside_ > 0) say_beside();
  try_refused();
  note_at_once();
}

void Spill::note_at_once() noexcept {
  const auto time = static_cast<double>(adapted_ - begun_) * 1e-9;
  const auto waited = 1e-9 * static_cast<double>(counts_->waited.load(std::memory_order_relaxed) +
                                                 counts_->paged_waited.load(std::memory_order_relaxed));
  if (time <= 0) return;
  const auto all = (program_time() - begun_with_).value + waited;
  counts_->at_once.store(std::max(1.0, all / time), std::memory_order_relaxed);
}

// Those that the file refuses stay, and take nothing from the others.
void Spill::set_limit() noexcept {
  allowed_ = std::max<std::size_t>(rest_, k_min);
  pool_->set_limit(std::max<std::size_t>(rest_, floor_) + refused_);
}

// A chunk comes back, and so many others have left since it did. Where what has to stay in memory leaves no room
// for chunks, as many may be there as it takes itself; and as soon as most of those that come back would not have
// left then, more of them may.
void Spill::note_return(std::uint32_t left) noexcept {
  ++returns_;
  if (left + pool_->limit() <= max_floor_ + refused_) ++soon_;
  if (returns_ < pool_->limit()) return;
  const bool most = static_cast<double>(soon_) >= spill_limits::k_soon * static_cast<double>(returns_);
  returns_ = soon_ = 0;
  if (!most || rest_ >= k_min) return;
  floor_ = std::min(floor_ + std::max<std::size_t>(floor_ / spill_limits::k_growth, 1), max_floor_);
  set_limit();
}

void Spill::set_refused(ChunkId c, bool value) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.refused == value) return;
  if (value && refused_ == 0) tried_ = steady_ns();
  chunk.refused = value;
  refused_ += value ? 1 : std::size_t(-1);
  set_limit();
}

// Disks are full for a while. Where one chunk would have room all that were refused may leave again; each time
// that it has none is twice as long until the next.
void Spill::try_refused() noexcept {
  const auto now = steady_ns();
  if (refused_ == 0 && now - tried_ > spill_limits::k_last_retry) retry_ = spill_limits::k_retry;
  if (refused_ == 0 || now - tried_ < retry_) return;
  tried_ = now;
  retry_ = std::min(2 * retry_, spill_limits::k_last_retry);
  bool has_room = false;
  for (const auto& [first, block] : blocks_)
    for (auto c = first; c < first + block.count; ++c) {
      if (!chunks_[c].refused) continue;
      if (!has_room && file_->reserve(offset(c), k_chunk) != 0) return;
      has_room = true;
      chunks_[c].stays = false;
      set_refused(c, false);
      tell(c);
    }
}

void Spill::say_beside() noexcept {
  if (std::exchange(said_beside_, true) || !parts_.say) return;
  say_too_small(parts_.memory, Bytes{parts_.memory.value + beside_}, parts_.say);
}

void Spill::keep_account() noexcept {
  const auto set = [](std::atomic<std::uint64_t>& count, std::uint64_t value) {
    count.store(value, std::memory_order_relaxed);
  };
  const auto grow = [&](std::atomic<std::uint64_t>& count, std::uint64_t value) {
    if (value > count.load(std::memory_order_relaxed)) set(count, value);
  };
  set(counts_->content, (content_ + given_) * k_chunk);
  grow(counts_->most, (content_ + given_) * k_chunk);
  set(counts_->given, given_ * k_chunk);
  grow(counts_->max_given, given_ * k_chunk);
  grow(counts_->beside, beside_);
  note_fault_waits();
  set(counts_->in_memory, pool_->pages() * k_chunk);
  set(counts_->limit, pool_->limit() * k_chunk);
  const auto within = std::min(pool_->pages(), pool_->limit());
  if (within > allowed_) note_over(within - allowed_);
}

// Samples waits in page faults that the kernel serves. Threads that wait for a chunk are in a page fault, too;
// they are counted when the chunk is served.
void Spill::note_fault_waits() noexcept {
  if (given_ == 0) return fault_waits_.pause();
  const auto now = steady_ns();
  if (!fault_waits_.is_due(now)) return;
  const auto is_known = [](const void* spill, std::uint32_t thread) {
    const auto& waiting = static_cast<const Spill*>(spill)->waiting_;
    return std::ranges::find(waiting, thread, &Waiting::thread) != waiting.end();
  };
  counts_->paged_waited.fetch_add(fault_waits_.look(now, is_known, this), std::memory_order_relaxed);
}

void Spill::note_over(std::size_t chunks) noexcept {
  if (chunks * k_chunk <= counts_->over.load(std::memory_order_relaxed)) return;
  counts_->over.store(chunks * k_chunk, std::memory_order_relaxed);
  const auto reason = refused_ > 0 ? k_over_file : floor_ > rest_ ? k_over_rest : k_over_held;
  counts_->over_reasons.fetch_or(reason, std::memory_order_relaxed);
}

}  // namespace terrace::transfer
