// Spilled memory in children of fork(2). See spill.hpp.
//
// Where all of it is in memory the child shares its pages until somebody writes to them, as usual; else only those
// that cannot be in the file. The rest it gets as private mappings of the file, which the thread that has the file
// makes. So what the file has for a child must stay as it is: whatever the parent writes from then on goes to
// other places in the file. They are not used again as long as the parent lives, which does not hear of what
// becomes of the child.
#define XXH_INLINE_ALL
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "transfer/spill/spill.hpp"
#include "transfer/spill/spill_system.hpp"

namespace terrace::transfer {

namespace {

constexpr const char* k_child_lacks = "a child of fork does not have all data: the system has no memory for it";

}  // namespace

// The thread waits from its answer until after_fork(): what the child gets of its books is whole.
void Spill::before_fork(std::span<const std::uint64_t> at_once) noexcept {
  calling_.lock();
  at_once_count_ = 0;
  for (const auto address : at_once) {
    if (address - base_ < count_ * k_chunk && at_once_count_ < k_at_once)
      at_once_[at_once_count_++] = static_cast<ChunkId>((address - base_) / k_chunk);
  }
  ask({.what = Call::What::fork});
}

void Spill::after_fork() noexcept {
  for (const auto& one : for_child_)
    if (one.mapped != 0) syscall(SYS_munmap, one.mapped, one.size);
  for_child_.clear();
  if (is_shared_ || shares_some_) {
    madvise(memory_at(base_), count_ * k_chunk, MADV_DONTFORK);
    for (ChunkId c = 0; c < count_; ++c)
      if (chunks_[c].where == Where::left) madvise(memory_at(place(c)), k_chunk, MADV_DOFORK);
  }
  sem_post(&forked_);
  calling_.unlock();
}

void Spill::in_child() noexcept {
  constexpr int k_fresh = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  for (const auto& one : for_child_) {
    const auto got = one.zeros ? syscall(SYS_mmap, one.place, one.size, PROT_READ | PROT_WRITE, k_fresh, -1, 0L)
                     : one.mapped != 0 ? syscall(SYS_mremap, one.mapped, one.size, one.size,
                                                 MREMAP_MAYMOVE | MREMAP_FIXED, one.place)
                                       : 0;
    if (got == -1) say_once(said_child_, k_child_lacks, errno);
  }
  calling_.unlock();
}

// At their places; nothing leaves until the child is there. False: not yet.
bool Spill::bring_at_once() noexcept {
  bool all = true;
  for (std::size_t i = 0; i < at_once_count_; ++i) {
    const auto c = at_once_[i];
    if (chunks_[c].where != Where::left && block_of(c) != blocks_.end()) all = bring_to_place(c) && all;
  }
  return all;
}

// The thread's part: the child will have all that there is.
void Spill::freeze() noexcept {
  shares_some_ = false;
  is_shared_ = bring_all_to_places();
  if (is_shared_) {
    madvise(memory_at(base_), count_ * k_chunk, MADV_DOFORK);
    return;
  }
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block)
    if (block->second.leaving) keep_block(block);
  const auto at_once = at_once_.begin() + static_cast<std::ptrdiff_t>(at_once_count_);
  for (const auto& [first, block] : blocks_) {
    if (block.given) {  // it could not be had back: what the parent writes later may show
      give_to_child(first, block.count, false);
      continue;
    }
    for (auto c = first; c < first + block.count; ++c) {
      auto& chunk = chunks_[c];
      if (chunk.where == Where::left) continue;
      if (chunk.where == Where::fresh) {
        give_to_child(c, 1, true);
      } else if (std::find(at_once_.begin(), at_once, c) == at_once && bring_to_file(c)) {
        give_to_child(c, 1, false);
        if (chunk.at > 0)
          chunk.shared = true;
        else
          taken_[c] = true;
      } else if (!share_with_child(c)) {
        say_once(said_child_, k_child_lacks, errno);
      }
    }
  }
  map_for_child();
}

// What lies in one piece in memory and in the file it maps at once.
void Spill::give_to_child(ChunkId first, std::uint32_t count, bool zeros) noexcept {
  const ForChild one{place(first), count * k_chunk, zeros, zeros ? 0 : offset(first)};
  if (!for_child_.empty()) {
    auto& before = for_child_.back();
    if (before.place + before.size == one.place && before.zeros == zeros &&
        (zeros || before.offset + before.size == one.offset)) {
      before.size += one.size;
      return;
    }
  }
  try {
    for_child_.push_back(one);
  } catch (const std::bad_alloc&) {
    say_once(said_child_, k_child_lacks, ENOMEM);
  }
}

// Here, and elsewhere than it will be: the child needs no file then, which it might not be able to open.
void Spill::map_for_child() noexcept {
  for (auto& one : for_child_) {
    if (one.zeros) continue;
    one.mapped = file_->map_copy(one.offset, one.size);
    if (one.mapped == 0) say_once(said_child_, k_child_lacks, errno);
  }
}

// False where some of it is not in memory.
bool Spill::bring_all_to_places() noexcept {
  for (const auto& [first, block] : blocks_) {
    if (block.given || block.leaving) return false;
    for (auto c = first; c < first + block.count; ++c)
      if (chunks_[c].where == Where::disk) return false;
  }
  for (const auto& [first, block] : blocks_)
    for (auto c = first; c < first + block.count; ++c) {
      if (chunks_[c].where != Where::ready && chunks_[c].where != Where::leaving) continue;
      take_back(c);
      map(c);
      if (chunks_[c].where != Where::quiet) return false;
      resume(c);
    }
  return true;
}

// False where it cannot be there. What is at its place leaves that meanwhile, so nobody writes to it.
bool Spill::bring_to_file(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.where == Where::disk || chunk.clean) return true;
  const bool quiet = chunk.where == Where::quiet;
  if (quiet) {
    const auto slot = pool_->fetch(place(c));
    if (slot == SpillPool::k_none) return false;
    chunk.slot = slot;
    chunk.where = Where::ready;
  }
  const auto address = pool_->address(chunk.slot);
  const auto digest = XXH3_128bits(memory_at(address), k_chunk);
  const Hash hash{digest.low64, digest.high64};
  if (!chunk.has_copy || hash != chunk.hash) {
    chunk.hash = hash;
    chunk.has_copy = false;
    find_place(c);
    chunk.has_copy = write_now(c, address);
  }
  if (quiet) {
    map(c);
    resume(c);
  }
  return chunk.has_copy;
}

// At its place, with the rights that it has there.
bool Spill::share_with_child(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.where == Where::ready || chunk.where == Where::leaving) {
    take_back(c);
    map(c);
    resume(c);
  }
  errno = EAGAIN;
  if (chunk.where != Where::quiet) return false;
  shares_some_ = true;
  return madvise(memory_at(place(c)), k_chunk, MADV_DOFORK) == 0;
}

bool Spill::write_now(ChunkId c, std::uint64_t address) noexcept {
  for (std::size_t done = 0; done < k_chunk;) {
    const auto got = syscall(SYS_pwrite64, file_->file(), address + done, k_chunk - done, offset(c) + done);
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (got == 0 || errno != EINTR) {
      if (errno != ENOSPC || !said_full_)
        say_once(said_write_, "the spill file cannot be written: what it does not take stays in memory", errno);
      return false;
    }
  }
  counts_->written.fetch_add(k_chunk, std::memory_order_relaxed);
  return true;
}

// Where the chunk is written next: not over what a child maps.
void Spill::find_place(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.at > 0 ? !chunk.shared : !is_taken(c)) return;
  if (spare_.empty()) {
    chunk.at = places_++;
  } else {
    chunk.at = spare_.back();
    spare_.pop_back();
  }
  chunk.shared = false;
}

// It has no content any more.
void Spill::leave_place(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.at == 0 || chunk.shared) return;
  file_->release(offset(c), k_chunk);
  try {
    spare_.push_back(chunk.at);
  } catch (const std::bad_alloc&) {  // then it is not used again
  }
}

}  // namespace terrace::transfer
