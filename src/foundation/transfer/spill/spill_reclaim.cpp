// SPDX-License-Identifier: Apache-2.0
// Takes blocks that the kernel pages back into the pager's chunks: writes their dirty pages, replaces the file
// mapping by watched memory, and services the faults that arrived meanwhile. Runs on the pager thread. See
// spill.hpp.
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "transfer/spill/spill.hpp"
#include "transfer/spill/spill_limits.hpp"
#include "transfer/spill/spill_system.hpp"

namespace terrace::transfer {

// Reclaims the kernel-paged blocks of the range, one after another. Returns false while that is in progress.
bool Spill::reclaim_range(ChunkId first, ChunkId end) noexcept {
  if (is_reclaiming_) return false;
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
    if (block->first >= end || block->first + block->second.count <= first) continue;
    if (!block->second.can_be_reclaimed()) continue;
    start_reclaim(block);
    return false;
  }
  return true;
}

bool Spill::is_being_reclaimed(ChunkId first, ChunkId end) const noexcept {
  return is_reclaiming_ && reclaimed_block_->first < end &&
         first < reclaimed_block_->first + reclaimed_block_->second.count;
}

// Starts a reclaim of a block that the kernel has paged for a while, by writing its dirty pages to the file in the
// background, which may take long; the program keeps using the mapping.
void Spill::start_reclaim(Blocks::iterator found) noexcept {
  found->second.since = steady_ns();
  reclaimed_block_ = found;
  is_reclaiming_ = true;
  remapper_->start_sync(*file_);
}

// Continues a reclaim when the remapper thread has written the dirty pages. Called in each round of the pager's
// loop.
void Spill::continue_reclaim() noexcept {
  if (remapper_->is_busy()) return;
  const auto [first, count] = std::pair(reclaimed_block_->first, reclaimed_block_->second.count);
  auto& block = reclaimed_block_->second;
  const int error = remapper_->error();
  if (block.flushing) return finish_reclaim(reclaimed_block_, error);
  // After a write error the block stays with the kernel.
  if (error != 0)
    say_once(
        said_kernel_,
        "the backing file cannot be written: kernel-paged data stay in memory; check the disk, or name another "
        "folder by --spill",
        error);
  if (error != 0 || !replace_mapping(address_of(first), count * k_chunk)) {
    block.unreclaimable = true;
    is_reclaiming_ = false;
  } else {
    block.flushing = true;
    remapper_->start_sync(*file_);  // pages that became dirty in the meantime
  }
  for (const auto& [address, thread] : deferred_touches_) handle_fault(address, thread);
  deferred_touches_.clear();
}

// Marks the chunks of a reclaimed block swapped out, once the file has their content, and services the faults that
// waited. `error`: result of writing the last dirty pages; where it failed, accesses raise SIGBUS.
void Spill::finish_reclaim(Blocks::iterator found, int error) noexcept {
  auto& [first, block] = *found;
  is_reclaiming_ = false;
  file_->drop_cached(offset(first), block.count * k_chunk);
  block.kernel_paged = block.flushing = false;
  block.use.reset();
  kernel_paged_ -= block.count;
  num_with_content_ += block.count;
  if (error != 0)
    say_once(said_lost_,
             "the backing file cannot be written: accesses to the lost data raise SIGBUS; check the disk, or name "
             "another folder by --spill",
             error);
  for (auto c = first; c < first + block.count; ++c) {
    chunks_[c].state = error == 0 ? ChunkState::swapped_out : ChunkState::mapped;
    chunks_[c].pinned = error != 0;
    if (error != 0) {
      faults_->poison(address_of(c), k_chunk);
      chunks_[c].failed_reads = k_max_read_attempts;
    }
    notify_policy(c);
  }
  service_deferred_faults(found);
}

// Atomically replaces the file mapping by watched memory without pages: no thread observes an intermediate state.
// mremap(2) of a watched range returns only after this thread has read its event, so the remapper thread calls it.
// Faults that arrive in the meantime are deferred.
bool Spill::replace_mapping(std::uint64_t address, std::size_t size) noexcept {
  const auto got = syscall(SYS_mmap, nullptr, size + k_chunk, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  if (got == -1) return false;
  const auto mapped = static_cast<std::uint64_t>(got);
  const auto from = align_up(mapped, k_chunk);
  syscall(SYS_munmap, mapped, from - mapped);
  syscall(SYS_munmap, from + size, mapped + k_chunk - from);
  prepare_range(from, size);
  bool done = false;
  if (faults_->register_range(from, size) == 0) {
    remapper_->start_remap(from, address, size);
    while (remapper_->is_busy()) {
      pollfd file{faults_->fd(), POLLIN, 0};
      poll(&file, 1, 1);
      for (DeferredTouch touch; faults_->next_fault(touch.address, &touch.thread);) {
        if (deferred_touches_.size() < deferred_touches_.capacity())
          deferred_touches_.push_back(touch);
        else
          faults_->wake(page_down(touch.address), k_page);  // its thread faults again
      }
    }
    done = remapper_->error() == 0;
  }
  if (!done) syscall(SYS_munmap, from, size);
  return done;
}

// Reclaims a block and discards its content.
void Spill::reclaim_from_kernel(Blocks::iterator found) noexcept {
  remap_fresh(found->first, found->second.count);
  kernel_paged_ -= found->second.count;
  found->second.kernel_paged = false;
}

// Replaces whatever is mapped there by fresh watched memory.
void Spill::remap_fresh(ChunkId first, std::uint32_t count) noexcept {
  const auto address = address_of(first);
  const auto size = count * k_chunk;
  syscall(SYS_mmap, address, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
          -1, 0L);
  prepare_range(address, size);
  faults_->register_range(address, size);
}

}  // namespace terrace::transfer
