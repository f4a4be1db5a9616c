// What the program asks of the thread of spilled memory. See spill.hpp.
#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "transfer/spill/spill.hpp"
#include "transfer/spill/spill_system.hpp"

namespace terrace::transfer {

void Spill::call(const Call& call) noexcept {
  const std::lock_guard lock(calling_);
  ask(call);
}

void Spill::ask(const Call& call) noexcept {
  call_ = call;
  calls_.fetch_add(1, std::memory_order_release);
  [[maybe_unused]] const char seen = *static_cast<const volatile char*>(memory_at(bell_));
  while (answers_.load(std::memory_order_acquire) != calls_.load(std::memory_order_relaxed)) sched_yield();
  madvise(memory_at(bell_), k_page, MADV_DONTNEED);
}

// A touch of the page may be told more than once, also while its call is being answered.
void Spill::answer_call() noexcept {
  if (calls_.load(std::memory_order_acquire) == answers_.load(std::memory_order_relaxed)) is_called_ = false;
  if (!is_called_ || std::exchange(is_answering_, true)) return;
  if (carry_out()) {
    const bool wait = call_.fork;  // the next caller may write to it as soon as this one has its answer
    is_called_ = false;
    keep_account();
    answers_.fetch_add(1, std::memory_order_release);
    faults_->fill_with_zeros(bell_, k_page);
    if (wait)
      while (sem_wait(&forked_) != 0) {
      }
  }
  is_answering_ = false;
}

// False: something is under way; again when that has ended.
bool Spill::carry_out() noexcept {
  stop_ = call_.stop;
  if (call_.stop) return true;
  if (call_.fork) {
    if (reads_ + writes_ > 0) return false;
    freeze();
    return true;
  }
  const auto first = static_cast<ChunkId>((call_.address - base_) / k_chunk);
  const auto count = call_.size / k_chunk;
  if (call_.release) return release_now(first, count);
  reserve_now(first, count);
  return true;
}

void Spill::reserve(std::uint64_t address, std::size_t size) noexcept { call({.address = address, .size = size}); }
void Spill::release(std::uint64_t address, std::size_t size) noexcept {
  call({.release = true, .address = address, .size = size});
}

void Spill::reserve_now(ChunkId first, std::size_t count) noexcept {
  const int error = file_->reserve(offset(first), count * k_chunk);
  blocks_[first] = {.count = static_cast<std::uint32_t>(count), .has_room = error == 0};
  if (error != 0 && error != EOPNOTSUPP)  // where it is not known, writes say it
    say_once(said_full_, "the spill file has no room for all data: what it does not take stays in memory", error);
}

bool Spill::release_now(ChunkId first, std::size_t count) noexcept {
  const auto end = first + static_cast<ChunkId>(count);
  if (const auto block = blocks_.find(first); block != blocks_.end()) {
    if (block->second.leaving) keep_block(block);
    if (block->second.given) take_block_back(block);
  }
  for (auto c = first; c < end; ++c)
    if (chunks_[c].writing || chunks_[c].where == Where::reading || chunks_[c].wanted) return false;
  for (auto c = first; c < end; ++c) {
    auto& chunk = chunks_[c];
    if (chunk.where == Where::fresh) continue;
    is_foreseen(c, false);
    if (chunk.failed == k_read_tries)
      renew(c, 1);  // its place is poisoned
    else if (chunk.where == Where::quiet)
      pool_->lost();
    if (chunk.where == Where::leaving) std::erase(leaving_, c);
    if (chunk.where == Where::leaving || chunk.where == Where::ready) pool_->give(chunk.slot);
    leave_place(c);
    chunk = {};
    tell(c);
    --content_;
  }
  blocks_.erase(first);
  pool_->shrink();
  for (auto c = first; c < end; ++c)
    if (!is_taken(c)) file_->release(offset(c), k_chunk);
  return true;
}

}  // namespace terrace::transfer
