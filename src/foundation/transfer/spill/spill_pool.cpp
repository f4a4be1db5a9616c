// SPDX-License-Identifier: Apache-2.0
// Implements the pager's pool of huge pages: makes, maps, unmaps, reuses and frees them. See spill_pool.hpp.
#include "transfer/spill/spill_pool.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "transfer/spill/spill_system.hpp"

namespace terrace::transfer {

namespace {

constexpr std::size_t k_min_pool_slots = 64;  // slots
constexpr int k_max_busy_retries = 1000;
constexpr int k_populate_write = 23;  // MADV_POPULATE_WRITE, since Linux 5.14

}  // namespace

// Halves the number of slots until the system grants the address space: fewer chunks may be unmapped at a time.
SpillPool::SpillPool(Userfault& faults, std::size_t max_slots) : faults_(faults) {
  long got = -1;
  for (;; max_slots /= 2) {
    mapped_size_ = (max_slots + 2) * k_chunk;
    got = syscall(SYS_mmap, nullptr, mapped_size_, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
    if (got != -1) break;
    if (max_slots <= k_min_pool_slots)
      throw Error(Code::failed, "--memory: no address space for chunks; raise ulimit -v");
  }
  mapped_ = static_cast<std::uint64_t>(got);
  scratch_ = align_up(mapped_, k_chunk);
  slots_ = scratch_ + k_chunk;
  madvise(memory_at(mapped_), mapped_size_, MADV_DONTFORK);
  madvise(memory_at(mapped_), mapped_size_, MADV_HUGEPAGE);
  // Keep the slots out of core dumps, which would contain the whole reservation.
  madvise(memory_at(mapped_), mapped_size_, MADV_DONTDUMP);
  if (const int error = faults_.register_range(slots_, max_slots * k_chunk); error != 0) {
    syscall(SYS_munmap, mapped_, mapped_size_);
    throw Error(Code::failed,
                std::string("--memory: the kernel refused to watch the data's pages (userfaultfd): ") +
                    std::strerror(error) + "; see `terrace machine check`");
  }
  empty_.reserve(max_slots);
  free_.reserve(max_slots);
  is_zero_.resize(max_slots);
  for (std::size_t i = max_slots; i > 0; --i) empty_.push_back(static_cast<Slot>(i - 1));
}

SpillPool::~SpillPool() { syscall(SYS_munmap, mapped_, mapped_size_); }

SpillPool::Slot SpillPool::take_empty_slot() noexcept {
  if (empty_.empty()) return k_none;
  const auto slot = empty_.back();
  empty_.pop_back();
  return slot;
}

// Allocates a huge page in the scratch range and moves it to the slot.
bool SpillPool::make_page(Slot slot) noexcept {
  if (madvise(memory_at(scratch_), k_chunk, k_populate_write) != 0) {
    if (errno != EINVAL) return false;
    for (std::size_t at = 0; at < k_chunk; at += k_page)
      *static_cast<volatile char*>(memory_at(scratch_ + at)) = 0;
  }
  std::size_t moved = 0;
  int error = faults_.move(address(slot), scratch_, k_chunk, moved);
  if (error == EINVAL) {  // the program called mlockall: the scratch page is locked, the slot is not
    syscall(SYS_munlock, scratch_, k_chunk);
    error = faults_.move(address(slot), scratch_, k_chunk, moved);
  }
  if (error == 0) return true;
  madvise(memory_at(address(slot)), k_chunk, MADV_DONTNEED);
  madvise(memory_at(scratch_), k_chunk, MADV_DONTNEED);
  return false;
}

SpillPool::Slot SpillPool::acquire(bool forced) noexcept {
  if (!free_.empty()) {
    const auto slot = free_.back();
    free_.pop_back();
    return slot;
  }
  if (pages_ >= limit_ && !forced) return k_none;
  const auto slot = take_empty_slot();
  if (slot == k_none) return k_none;
  if (!make_page(slot)) {
    empty_.push_back(slot);
    return k_none;
  }
  ++pages_;
  is_zero_[slot] = true;
  return slot;
}

void SpillPool::release(Slot slot) noexcept {
  is_zero_[slot] = false;
  free_.push_back(slot);
}

void SpillPool::shrink() noexcept {
  while (pages_ > limit_ && !free_.empty()) {
    const auto slot = free_.back();
    free_.pop_back();
    madvise(memory_at(address(slot)), k_chunk, MADV_DONTNEED);
    empty_.push_back(slot);
    --pages_;
  }
}

void SpillPool::zero_fill(Slot slot) noexcept {
  if (!is_zero_[slot]) std::memset(memory_at(address(slot)), 0, k_chunk);
}

int SpillPool::map_to(Slot slot, std::uint64_t place) noexcept {
  std::size_t moved = 0;
  int error = faults_.move(place, address(slot), k_chunk, moved);
  // I/O that has just ended may still pin the page.
  for (int again = 0; error == EBUSY && again < k_max_busy_retries; ++again) {
    sched_yield();
    std::size_t more = 0;
    error = faults_.move(place + moved, address(slot) + moved, k_chunk - moved, more);
    moved += more;
  }
  if (error == 0) {
    is_zero_[slot] = false;
    empty_.push_back(slot);
    return 0;
  }
  if (moved > 0) faults_.restore(address(slot), place, k_chunk, moved);
  return error;
}

SpillPool::Slot SpillPool::unmap_from(std::uint64_t place) noexcept {
  const auto slot = take_empty_slot();
  if (slot == k_none) return k_none;
  for (bool again = true;; again = false) {
    std::size_t moved = 0;
    const int error = faults_.move(address(slot), place, k_chunk, moved);
    if (error == 0) return slot;
    if (moved > 0) faults_.restore(place, address(slot), k_chunk, moved);
    faults_.wake(place, k_chunk);
    if (error != EBUSY || !again || !break_sharing(place)) break;
  }
  empty_.push_back(slot);
  return k_none;
}

// Breaks copy-on-write sharing with a child of fork(2) by a write fault on each page. Returns false where a page
// is absent: a write to it would wait for this thread.
bool SpillPool::break_sharing(std::uint64_t place) const noexcept {
  for (auto at = place; at < place + k_chunk; at += k_page)
    if (!faults_.page_map().has_page(at)) return false;
  return madvise(memory_at(place), k_chunk, k_populate_write) == 0;
}

}  // namespace terrace::transfer
