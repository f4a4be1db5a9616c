// What the program asks of the thread of spilled memory. See spill.hpp.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <new>
#include <utility>

#include "transfer/spill/spill.hpp"
#include "transfer/spill/spill_system.hpp"

namespace terrace::transfer {

namespace {

constexpr int k_do_not_need_locked = 24;  // MADV_DONTNEED_LOCKED, since Linux 5.18

}  // namespace

void Spill::call(const Call& call) noexcept {
  const std::lock_guard lock(calling_);
  ask(call);
}

void Spill::ask(const Call& call) noexcept {
  call_ = call;
  calls_.fetch_add(1, std::memory_order_release);
  [[maybe_unused]] const char seen = *static_cast<const volatile char*>(memory_at(bell_));
  // As a rule the touch has waited for the answer. It has not where the page was there already.
  const auto asked = calls_.load(std::memory_order_relaxed);
  for (auto seen_answers = answers_.load(std::memory_order_acquire); seen_answers != asked;
       seen_answers = answers_.load(std::memory_order_acquire))
    answers_.wait(seen_answers, std::memory_order_acquire);
  madvise(memory_at(bell_), k_page, MADV_DONTNEED);
}

// A touch of the page may be told more than once, also while its call is being answered.
void Spill::answer_call() noexcept {
  if (calls_.load(std::memory_order_acquire) == answers_.load(std::memory_order_relaxed)) is_called_ = false;
  if (!is_called_ || std::exchange(is_answering_, true)) return;
  // The next caller may write to it as soon as this one has its answer.
  const bool forks = call_.what == Call::What::fork;
  if (carry_out()) {
    is_called_ = false;
    keep_account();
    answers_.fetch_add(1, std::memory_order_release);
    answers_.notify_all();
    faults_->fill_with_zeros(bell_, k_page);
    if (forks)
      while (sem_wait(&forked_) != 0) {
      }
  }
  is_answering_ = false;
}

// A call makes two at most, so none fails in its middle. False while the system has no memory for them.
bool Spill::keep_spare_blocks() noexcept {
  constexpr std::size_t k_kept = 64;
  constexpr std::size_t k_needed = 2;
  try {
    while (spare_blocks_.size() < k_kept)
      spare_blocks_.emplace(spare_blocks_.empty() ? 0 : spare_blocks_.rbegin()->first + 1, Block{});
  } catch (const std::bad_alloc&) {  // as many as there are
  }
  return spare_blocks_.size() >= k_needed;
}

void Spill::add_block(ChunkId first, const Block& block) noexcept {
  auto made = spare_blocks_.extract(spare_blocks_.begin());
  made.key() = first;
  made.mapped() = block;
  blocks_.insert(std::move(made));
}

// False: something is under way; again when that has ended.
bool Spill::carry_out() noexcept {
  if (!keep_spare_blocks()) return false;
  const auto first = static_cast<ChunkId>((call_.address - base_) / k_chunk);
  const auto count = call_.size / k_chunk;
  switch (call_.what) {
    case Call::What::stop:
      stop_ = true;
      return true;
    case Call::What::fork:
      if (!take_back_given(0, static_cast<ChunkId>(count_)) || !bring_at_once() || reads_ + writes_ > 0)
        return false;
      freeze();
      return true;
    case Call::What::reserve:
      reserve_now(first, count);
      return true;
    case Call::What::release:
      return release_now(first, count);
    case Call::What::discard:
      return discard_now(first, count);
    case Call::What::leave:
      return leave_now(first, count);
    case Call::What::prefer:
      foresight_->prefer(first, static_cast<std::uint32_t>(count), call_.preference);
      return true;
    case Call::What::change_rights:
      return change_rights_now(first, count, call_.usual);
  }
  return true;
}

void Spill::reserve(std::uint64_t address, std::size_t size) noexcept {
  call({.what = Call::What::reserve, .address = address, .size = size});
}
void Spill::release(std::uint64_t address, std::size_t size) noexcept {
  call({.what = Call::What::release, .address = address, .size = size});
}
void Spill::discard(std::uint64_t address, std::size_t size) noexcept {
  call({.what = Call::What::discard, .address = address, .size = size});
}
void Spill::leave(std::uint64_t address, std::size_t size) noexcept {
  call({.what = Call::What::leave, .address = address, .size = size});
}
void Spill::prefer(std::uint64_t address, std::size_t size, Preference preference) noexcept {
  call({.what = Call::What::prefer, .address = address, .size = size, .preference = preference});
}
void Spill::change_rights(std::uint64_t address, std::size_t size, bool usual) noexcept {
  call({.what = Call::What::change_rights, .address = address, .size = size, .usual = usual});
}

void Spill::reserve_now(ChunkId first, std::size_t count) noexcept {
  add_block(first, {.count = static_cast<std::uint32_t>(count)});
  unasked_ = true;
  if (content_ + count > pool_->limit()) ask_for_room();
}

// Memory is short, or will be.
void Spill::ask_for_room() noexcept {
  if (!std::exchange(unasked_, false)) return;
  for (auto& [first, block] : blocks_) {
    if (std::exchange(block.asked, true)) continue;
    const int error = file_->reserve(offset(first), block.count * k_chunk);
    block.has_room = error == 0;
    // The kernel keeps what it found before the disk was full; others may need it.
    if (error != 0)
      for (auto c = first; c < first + block.count; ++c)
        if (!chunks_[c].has_copy && !chunks_[c].writing && !is_taken(c)) file_->release(offset(c), k_chunk);
    if (error != 0 && error != EOPNOTSUPP)  // where it is not known, writes say it
      say_once(said_full_, k_full, error);
  }
}

bool Spill::is_busy(ChunkId first, ChunkId end) const noexcept {
  for (auto c = first; c < end; ++c)
    if (chunks_[c].writing || chunks_[c].where == Where::reading || chunks_[c].wanted) return true;
  return false;
}

// Its content is lost. A page at its place stays there.
void Spill::drop(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.where == Where::fresh) return;
  is_foreseen(c, false);
  set_refused(c, false);
  if (chunk.failed == k_read_tries || chunk.where == Where::left)
    renew(c, 1);  // its place is poisoned, or something of the program's is there
  else if (chunk.where == Where::quiet)
    pool_->lost();
  if (chunk.where == Where::leaving) std::erase(leaving_, c);
  if (chunk.where == Where::leaving || chunk.where == Where::ready) pool_->give(chunk.slot);
  if (chunk.where != Where::left) --content_;
  leave_place(c);
  chunk = {};
  tell(c);
}

void Spill::give_page_back(ChunkId c) noexcept {
  if (chunks_[c].where == Where::quiet && madvise(memory_at(place(c)), k_chunk, MADV_DONTNEED) != 0)
    madvise(memory_at(place(c)), k_chunk, k_do_not_need_locked);
}

bool Spill::release_now(ChunkId first, std::size_t count) noexcept {
  const auto end = first + static_cast<ChunkId>(count);
  if (is_retaken(first, end)) return false;
  stop_giving(first, end);
  for (auto block = divide_blocks(first, end); block != blocks_.end() && block->first < end; ++block)
    if (block->second.given) take_block_back(block);
  if (is_busy(first, end)) return false;
  foresight_->prefer(first, static_cast<std::uint32_t>(count), Preference::none);
  // Before it is on no account: it would count as what has to stay in memory until the caller has done it.
  for (auto c = first; c < end; ++c) {
    give_page_back(c);
    drop(c);
  }
  const auto from_block = blocks_.lower_bound(first);
  const auto behind = blocks_.lower_bound(end);
  const bool has_file = std::any_of(from_block, behind, [](const auto& one) { return one.second.asked; });
  blocks_.erase(from_block, behind);
  pool_->shrink();
  if (!has_file) return true;
  for (auto c = first; c < end;) {
    const auto from = c++;
    if (is_taken(from)) continue;
    while (c < end && !is_taken(c)) ++c;
    file_->release(offset(from), (c - from) * k_chunk);
  }
  return true;
}

bool Spill::discard_now(ChunkId first, std::size_t count) noexcept {
  const auto end = first + static_cast<ChunkId>(count);
  if (is_retaken(first, end)) return false;
  stop_giving(first, end);
  for (auto c = first; c < end;) {
    const auto block = block_of(c);
    if (block == blocks_.end()) {
      ++c;
      continue;
    }
    const auto behind = std::min(end, block->first + block->second.count);
    if (block->second.given) take_block_back(divide_blocks(c, behind));
    c = behind;
  }
  if (is_busy(first, end)) return false;
  for (auto c = first; c < end; ++c) {
    give_page_back(c);
    drop(c);
  }
  pool_->shrink();
  return true;
}

// At its place, whatever it takes. False: not yet.
bool Spill::bring_home(ChunkId c) noexcept {
  chunks_[c].stays = true;  // once it is there: what nobody has touched would be the first to leave
  return bring_to_place(c);
}

bool Spill::bring_to_place(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.writing || chunk.where == Where::reading) return false;
  if ((chunk.where == Where::ready || chunk.where == Where::leaving) && !chunk.wanted) {
    take_back(c);
    map(c);
    resume(c);
  } else if (chunk.where == Where::disk && !chunk.wanted) {
    needy_.push_back(c);
    chunk.wanted = true;
    tell(c);
  }
  return chunk.where == Where::quiet || (chunk.where == Where::fresh && !chunk.wanted);
}

// From now on like all that the process has beside chunks.
void Spill::leave_chunk(ChunkId c) noexcept {
  if (chunks_[c].where == Where::quiet) {
    if (chunks_[c].failed < k_read_tries) pool_->lost();  // else there is no page
    --content_;
  }
  is_foreseen(c, false);
  set_refused(c, false);
  leave_place(c);
  chunks_[c] = {.where = Where::left};
  madvise(memory_at(place(c)), k_chunk, MADV_DOFORK);
  tell(c);
}

// One by one: they need not all be in memory at once to be left.
bool Spill::leave_now(ChunkId first, std::size_t count) noexcept {
  const auto end = first + static_cast<ChunkId>(count);
  if (is_retaken(first, end)) return false;
  stop_giving(first, end);
  auto block = divide_blocks(first, end);
  if (!take_back_given(first, end)) return false;
  for (; block != blocks_.end() && block->first < end;) {
    const auto& [start, one] = *block;
    if (one.given) {  // what the kernel has of it stays where it is
      for (auto c = start; c < start + one.count; ++c) leave_chunk(c);
      given_ -= one.count;
    }
    block = blocks_.erase(block);
  }
  bool all = true;
  for (auto c = first; c < end; ++c)
    if (chunks_[c].where != Where::left && bring_home(c))
      leave_chunk(c);
    else
      all = all && chunks_[c].where == Where::left;
  return all;
}

bool Spill::change_rights_now(ChunkId first, std::size_t count, bool usual) noexcept {
  const auto end = first + static_cast<ChunkId>(count);
  if (is_retaken(first, end)) return false;
  if (usual) {
    for (auto c = first; c < end; ++c) {
      if (chunks_[c].where != Where::quiet || chunks_[c].failed > 0) continue;
      chunks_[c].stays = false;  // it may be possible again to move it
      set_refused(c, false);
      tell(c);
    }
    const auto is_kept = [&](const auto& one) {
      return one.second.kept && one.first < end && first < one.first + one.second.count;
    };
    if (std::ranges::none_of(blocks_, is_kept)) return true;
    for (auto block = divide_blocks(first, end); block != blocks_.end() && block->first < end; ++block)
      block->second.kept = false;
    return true;
  }
  stop_giving(first, end);
  // A mapping of the file could not be had back with these rights, and children would see what is written to it.
  auto block = divide_blocks(first, end);
  if (!take_back_given(first, end)) return false;
  for (; block != blocks_.end() && block->first < end; ++block) block->second.kept = true;
  return true;
}

}  // namespace terrace::transfer
