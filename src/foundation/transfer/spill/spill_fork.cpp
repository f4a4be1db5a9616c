// SPDX-License-Identifier: Apache-2.0
// Makes snapshots of spilled memory for children of fork(2), which the agent interposes. See spill.hpp.
//
// If all chunks are resident, the child shares them copy-on-write as usual. Otherwise it shares only chunks that
// cannot be in the file, and gets private file mappings of the rest, made by the pager thread. Invariant: file
// chunks that a child maps are frozen. The parent writes to other file chunks from then on, and never reuses
// frozen ones, because it does not learn when the child ends.
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

constexpr const char* k_child_lacks = "a child of fork lacks a part of its data: the system is out of memory";

}  // namespace

// The pager waits between its answer and after_fork(), so the child inherits consistent data structures.
void Spill::before_fork(std::span<const std::uint64_t> at_once) noexcept {
  call_mutex_.lock();
  num_eager_chunks_ = 0;
  for (const auto address : at_once) {
    if (address - base_ < count_ * k_chunk && num_eager_chunks_ < k_at_once)
      eager_chunks_[num_eager_chunks_++] = static_cast<ChunkId>((address - base_) / k_chunk);
  }
  post_call({.kind = Call::Kind::fork});
}

// Runs in the parent: undoes what the fork needed, and lets the pager go on.
void Spill::after_fork() noexcept {
  for (const auto& one : child_mappings_)
    if (one.mapped != 0) syscall(SYS_munmap, one.mapped, one.size);
  child_mappings_.clear();
  if (child_shares_all_ || child_shares_some_) {
    madvise(memory_at(base_), count_ * k_chunk, MADV_DONTFORK);
    for (ChunkId c = 0; c < count_; ++c)
      if (chunks_[c].state == ChunkState::unmanaged) madvise(memory_at(address_of(c)), k_chunk, MADV_DOFORK);
  }
  sem_post(&forked_);
  call_mutex_.unlock();
}

// Runs in the child: moves the inherited file mappings to the addresses of the data.
void Spill::in_child() noexcept {
  constexpr int k_fresh = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  for (const auto& one : child_mappings_) {
    const auto got = one.zeros ? syscall(SYS_mmap, one.place, one.size, PROT_READ | PROT_WRITE, k_fresh, -1, 0L)
                     : one.mapped != 0 ? syscall(SYS_mremap, one.mapped, one.size, one.size,
                                                 MREMAP_MAYMOVE | MREMAP_FIXED, one.place)
                                       : 0;
    if (got == -1) say_once(said_child_, k_child_lacks, errno);
  }
  call_mutex_.unlock();
}

// Maps the eager chunks. Returns false while some are in progress. Nothing is evicted until the child exists.
bool Spill::fetch_eager_chunks() noexcept {
  bool all = true;
  for (std::size_t i = 0; i < num_eager_chunks_; ++i) {
    const auto c = eager_chunks_[i];
    if (chunks_[c].state != ChunkState::unmanaged && block_of(c) != blocks_.end()) all = fetch(c) && all;
  }
  return all;
}

// Prepares the snapshot on the pager thread.
void Spill::snapshot_for_child() noexcept {
  child_shares_some_ = false;
  child_shares_all_ = map_all_resident();
  if (child_shares_all_) {
    madvise(memory_at(base_), count_ * k_chunk, MADV_DOFORK);
    return;
  }
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block)
    if (block->second.handing_over) cancel_handover(block);
  const auto at_once = eager_chunks_.begin() + static_cast<std::ptrdiff_t>(num_eager_chunks_);
  for (const auto& [first, block] : blocks_) {
    if (block.kernel_paged) {  // unreclaimable: later writes of the parent may be visible
      add_child_mapping(first, block.count, false);
      continue;
    }
    for (auto c = first; c < first + block.count; ++c) {
      auto& chunk = chunks_[c];
      if (chunk.state == ChunkState::unmanaged) continue;
      if (chunk.state == ChunkState::empty) {
        add_child_mapping(c, 1, true);
      } else if (std::find(eager_chunks_.begin(), at_once, c) == at_once && save_to_file(c)) {
        add_child_mapping(c, 1, false);
        if (chunk.file_chunk > 0)
          chunk.shared_with_child = true;
        else
          frozen_[c] = true;
      } else if (!share_with_child(c)) {
        say_once(said_child_, k_child_lacks, errno);
      }
    }
  }
  map_snapshot();
}

// Adds a mapping for the child; contiguous ranges are merged into one.
void Spill::add_child_mapping(ChunkId first, std::uint32_t count, bool zeros) noexcept {
  const ChildMapping one{address_of(first), count * k_chunk, zeros, zeros ? 0 : offset(first)};
  if (!child_mappings_.empty()) {
    auto& before = child_mappings_.back();
    if (before.place + before.size == one.place && before.zeros == zeros &&
        (zeros || before.offset + before.size == one.offset)) {
      before.size += one.size;
      return;
    }
  }
  try {
    child_mappings_.push_back(one);
  } catch (const std::bad_alloc&) {
    say_once(said_child_, k_child_lacks, ENOMEM);
  }
}

// Maps the file ranges in the parent, at temporary addresses: the child moves them and needs no file descriptor.
void Spill::map_snapshot() noexcept {
  for (auto& one : child_mappings_) {
    if (one.zeros) continue;
    one.mapped = file_->map_private_anywhere(one.offset, one.size);
    if (one.mapped == 0) say_once(said_child_, k_child_lacks, errno);
  }
}

// Maps all chunks, if all are resident. Returns false otherwise.
bool Spill::map_all_resident() noexcept {
  for (const auto& [first, block] : blocks_) {
    if (block.kernel_paged || block.handing_over) return false;
    for (auto c = first; c < first + block.count; ++c)
      if (chunks_[c].state == ChunkState::swapped_out) return false;
  }
  for (const auto& [first, block] : blocks_)
    for (auto c = first; c < first + block.count; ++c) {
      if (chunks_[c].state != ChunkState::unmapped_resident && chunks_[c].state != ChunkState::evicting) continue;
      cancel_eviction(c);
      map_chunk(c);
      if (chunks_[c].state != ChunkState::mapped) return false;
      resume_waiters(c);
    }
  return true;
}

// Makes the file hold the chunk's content. Returns false where that is impossible. A mapped chunk is unmapped
// during the write, so no thread modifies it.
bool Spill::save_to_file(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.state == ChunkState::swapped_out || chunk.clean) return true;
  const bool was_mapped = chunk.state == ChunkState::mapped;
  if (was_mapped) {
    const auto slot = pool_->unmap_from(address_of(c));
    if (slot == SpillPool::k_none) return false;
    chunk.slot = slot;
    chunk.state = ChunkState::unmapped_resident;
  }
  const auto address = pool_->address(chunk.slot);
  const auto digest = XXH3_128bits(memory_at(address), k_chunk);
  const Hash hash{digest.low64, digest.high64};
  if (!chunk.has_copy || hash != chunk.hash) {
    chunk.hash = hash;
    chunk.has_copy = false;
    assign_file_chunk(c);
    chunk.has_copy = write_sync(c, address);
  }
  if (was_mapped) {
    map_chunk(c);
    resume_waiters(c);
  }
  return chunk.has_copy;
}

// Maps the chunk and shares it copy-on-write. Returns false, with errno set, on failure.
bool Spill::share_with_child(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.state == ChunkState::unmapped_resident || chunk.state == ChunkState::evicting) {
    cancel_eviction(c);
    map_chunk(c);
    resume_waiters(c);
  }
  errno = EAGAIN;
  if (chunk.state != ChunkState::mapped) return false;
  child_shares_some_ = true;
  return madvise(memory_at(address_of(c)), k_chunk, MADV_DOFORK) == 0;
}

// Writes a chunk to the file before the child is created, and waits for it.
bool Spill::write_sync(ChunkId c, std::uint64_t address) noexcept {
  for (std::size_t done = 0; done < k_chunk;) {
    const auto got = syscall(SYS_pwrite64, file_->fd(), address + done, k_chunk - done, offset(c) + done);
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (got == 0 || errno != EINTR) {
      if (errno != ENOSPC || !said_full_)
        say_once(said_write_,
                 "the backing file cannot be written: the rest stays in memory; check the disk, or name another "
                 "folder by --spill",
                 errno);
      return false;
    }
  }
  counts_->written.fetch_add(k_chunk, std::memory_order_relaxed);
  return true;
}

// Assigns a file chunk that no child maps to the next write.
void Spill::assign_file_chunk(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.file_chunk > 0 ? !chunk.shared_with_child : !is_frozen(c)) return;
  if (free_file_chunks_.empty()) {
    chunk.file_chunk = next_file_chunk_++;
  } else {
    chunk.file_chunk = free_file_chunks_.back();
    free_file_chunks_.pop_back();
  }
  chunk.shared_with_child = false;
}

// Frees the chunk's extra file chunk, unless a child maps it.
void Spill::release_file_chunk(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.file_chunk == 0 || chunk.shared_with_child) return;
  file_->release(offset(c), k_chunk);
  try {
    free_file_chunks_.push_back(chunk.file_chunk);
  } catch (const std::bad_alloc&) {  // then the index is not reused
  }
}

}  // namespace terrace::transfer
