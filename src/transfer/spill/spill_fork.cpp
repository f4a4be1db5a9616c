// Spilled memory in children of fork(2). See spill.hpp.
//
// Where all of it is in memory the child shares its pages until somebody writes to them, as usual. Else the child
// maps the file privately, so what the file has for it must stay as it is: whatever the parent writes from then on
// goes to other places in the file. They are not used again as long as the parent lives, which does not hear of
// what becomes of the child.
#define XXH_INLINE_ALL
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "transfer/spill/spill.hpp"
#include "transfer/spill/spill_system.hpp"

namespace terrace::transfer {

// The thread waits from its answer until after_fork(): what the child gets of its books is whole.
void Spill::before_fork() noexcept {
  calling_.lock();
  char name[64];
  std::snprintf(name, sizeof name, "/proc/self/task/%d/fd/%d", thread_number_, file_->file());
  children_file_ = static_cast<int>(syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC));
  ask({.what = Call::What::fork});
}

void Spill::after_fork() noexcept {
  if (is_shared_) {
    madvise(memory_at(base_), count_ * k_chunk, MADV_DONTFORK);
    for (ChunkId c = 0; c < count_; ++c)
      if (chunks_[c].where == Where::left) madvise(memory_at(place(c)), k_chunk, MADV_DOFORK);
  }
  if (children_file_ >= 0) syscall(SYS_close, children_file_);
  children_file_ = -1;
  sem_post(&forked_);
  calling_.unlock();
}

void Spill::in_child() noexcept {
  const auto map = [](std::uint64_t address, std::size_t size, int file, std::uint64_t offset) {
    const int flags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE | (file < 0 ? MAP_ANONYMOUS : 0);
    syscall(SYS_mmap, address, size, PROT_READ | PROT_WRITE, flags, file, offset);
  };
  for (const auto& [first, block] : blocks_) {
    if (is_shared_) break;
    if (block.given) {  // it could not be had back: what the parent writes later may show
      if (children_file_ >= 0) map(place(first), block.count * k_chunk, children_file_, offset(first));
      continue;
    }
    const auto end = first + block.count;
    for (auto c = first; c < end;) {
      const auto from = c++;
      if (chunks_[from].where == Where::fresh) {
        while (c < end && chunks_[c].where == Where::fresh) ++c;
        map(place(from), (c - from) * k_chunk, -1, 0);
      } else if (in_file_[from] && children_file_ >= 0) {
        while (c < end && in_file_[c] && offset(c) == offset(from) + (c - from) * k_chunk) ++c;
        map(place(from), (c - from) * k_chunk, children_file_, offset(from));
      }
    }
  }
  if (children_file_ >= 0) syscall(SYS_close, children_file_);
  calling_.unlock();
}

// The thread's part: the child will have all that there is.
void Spill::freeze() noexcept {
  is_shared_ = bring_all_to_places();
  if (is_shared_) {
    madvise(memory_at(base_), count_ * k_chunk, MADV_DOFORK);
    return;
  }
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
    if (block->second.leaving) keep_block(block);
    if (block->second.given && !block->second.kept) retake(block);
  }
  in_file_.assign(count_, false);
  taken_.resize(count_);
  for (const auto& [first, block] : blocks_)
    for (auto c = first; c < first + block.count && !block.given; ++c) {
      auto& chunk = chunks_[c];
      if (chunk.where == Where::fresh || !bring_to_file(c)) continue;
      in_file_[c] = true;
      if (chunk.at > 0)
        chunk.shared = true;
      else
        taken_[c] = true;
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

// Other threads of the program may write to a chunk at its place meanwhile: the child gets some of that, as it
// could not know better, but nobody knows then what exactly the file has.
bool Spill::bring_to_file(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.where == Where::disk || chunk.clean) return true;
  const bool quiet = chunk.where == Where::quiet;
  const auto address = quiet ? place(c) : pool_->address(chunk.slot);
  if (!quiet) {
    const auto digest = XXH3_128bits(memory_at(address), k_chunk);
    const Hash hash{digest.low64, digest.high64};
    if (chunk.has_copy && hash == chunk.hash) return true;
    chunk.hash = hash;
  }
  chunk.has_copy = false;
  find_place(c);
  if (!write_now(c, address)) return false;
  chunk.has_copy = !quiet;
  return true;
}

bool Spill::write_now(ChunkId c, std::uint64_t address) noexcept {
  for (std::size_t done = 0; done < k_chunk;) {
    const auto got = syscall(SYS_pwrite64, file_->file(), address + done, k_chunk - done, offset(c) + done);
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (got == 0 || errno != EINTR) {
      say_once(said_child_, "the spill file cannot be written: a child of fork does not have all data", errno);
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
  spare_.push_back(chunk.at);
}

}  // namespace terrace::transfer
