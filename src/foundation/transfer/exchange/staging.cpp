// SPDX-License-Identifier: Apache-2.0
// Manages the slots through which page exchanges and sentinels move pages: fills, caches, recycles and frees them.
// See staging.hpp.
#include "transfer/exchange/staging.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/error.hpp"
#include "core/userfault_file.hpp"
#include "memory/numa_node.hpp"

namespace terrace::transfer {

namespace {

// Stride of node queries for recycled pages: querying all pages of 2 MiB takes as long as copying them. Pages made
// here were queried one by one.
constexpr std::size_t k_query_step = 64;

void* pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

int advise(std::uint64_t address, std::size_t size, int advice) noexcept {
  return syscall(SYS_madvise, address, size, advice) == 0 ? 0 : errno;
}

// Returns the node of every `step`th page and of the last; -1 if they differ or one is absent.
int node_of_all(std::uint64_t address, std::size_t size, std::size_t step = 1) noexcept {
  std::array<void*, Staging::k_slot / k_page + 1> pages{};
  std::array<int, Staging::k_slot / k_page + 1> nodes{};
  std::size_t count = 0;
  for (std::size_t at = 0; at < size; at += step * k_page) pages.at(count++) = pointer(address + at);
  pages.at(count++) = pointer(address + size - k_page);
  const auto answered = std::span(nodes).first(count);
  if (memory::query_pages(std::span(pages).first(count), answered) != 0) return -1;
  const bool same =
      std::all_of(answered.begin(), answered.end(), [&](int one) { return one == answered.front(); });
  return same ? answered.front() : -1;
}

}  // namespace

Staging::Staging(Userfault& faults, SlotAccounting& accounting, std::size_t slots, std::size_t max_cached)
    : faults_(faults), accounting_(accounting), max_cached_(max_cached) {
  if (!faults_.is_available())
    throw Error(Code::failed, "pages cannot be exchanged, " + why_no_userfault(faults_.error()));
  mapped_size_ = (2 * slots + 3) * k_slot;  // one for alignment, two for scratch
  const auto map = syscall(SYS_mmap, nullptr, mapped_size_, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map < 0)
    throw Error(Code::failed, "pages cannot be exchanged: no address space for staging memory; raise ulimit -v");
  mapped_ = static_cast<std::uint64_t>(map);
  scratch_ = align_up(mapped_, k_slot);
  syscall(SYS_munlock, mapped_, mapped_size_);  // the program may have called mlockall(MCL_FUTURE)
  advise(scratch_, (2 * slots + 2) * k_slot, MADV_DONTFORK);
  for (const bool huge : {false, true}) map_scratch(huge);
  for (std::size_t i = 0; i < 2 * slots; ++i)
    slots_.push_back({.address = scratch_ + (2 + i) * k_slot, .huge = i >= slots});
  if (slots > 0 && faults_.register_range(slots_.front().address, 2 * slots * k_slot) != 0)
    throw Error(
        Code::failed,
        "pages cannot be exchanged: the kernel refused to register staging memory (userfaultfd); free memory");
}

// Remaps a scratch range, which drops its pages and page tables. If mmap(2) fails the old mapping remains, empty.
void Staging::map_scratch(bool huge) noexcept {
  advise(scratch(huge), k_slot, MADV_DONTNEED);
  syscall(SYS_mmap, scratch(huge), k_slot, PROT_READ | PROT_WRITE,
          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  syscall(SYS_munlock, scratch(huge), k_slot);
  advise(scratch(huge), k_slot, MADV_DONTFORK);
  advise(scratch(huge), k_slot, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

Staging::~Staging() {
  for (const auto& slot : slots_)
    if (slot.is_charged) accounting_.uncharge(slot.node, slot.filled);
  syscall(SYS_munmap, mapped_, mapped_size_);
}

// Requires mutex_.
void Staging::acquire(Slot& slot) noexcept {
  slot.acquired = true;
  if (slot.is_charged) accounting_.uncharge(slot.node, slot.filled);
  slot.is_charged = false;
}

// Acquires an unused slot with exactly `filled` bytes of pages on the node, or with `more`; null if there is no
// such slot.
Staging::Slot* Staging::acquire_matching(std::size_t filled, bool huge, int node, bool more) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& one) {
    return !one.acquired && one.huge == huge && (more ? one.filled > filled : one.filled == filled) &&
           (one.filled == 0 || one.node == node);
  });
  if (found == slots_.end()) return nullptr;
  acquire(*found);
  return &*found;
}

Staging::Slot* Staging::acquire_empty(bool huge) noexcept {
  if (auto* const slot = acquire_matching(0, huge, -1)) return slot;
  Slot* oldest = nullptr;
  {
    const std::lock_guard lock(mutex_);
    for (auto& slot : slots_)
      if (!slot.acquired && slot.huge == huge && (!oldest || slot.last_used < oldest->last_used)) oldest = &slot;
    if (!oldest) return nullptr;
    acquire(*oldest);
  }
  clear(*oldest);
  return oldest;
}

Staging::Slot* Staging::acquire_filled(std::size_t size, bool huge, int node, int& error) noexcept {
  error = 0;
  if (auto* const slot = acquire_matching(size, huge, node)) return slot;
  if (auto* const slot = acquire_matching(size, huge, node, true)) return slot;
  auto* const slot = acquire_empty(huge);
  if (!slot) {
    error = EAGAIN;
    return nullptr;
  }
  error = fill(*slot, size, node);
  if (error == 0) return slot;
  release_slot(*slot);
  return nullptr;
}

// Populates pages in the unwatched scratch range: this thread would wait for itself in a watched one.
int Staging::fill(Slot& slot, std::size_t size, int node) noexcept {
  const std::lock_guard lock(scratch_mutex_);
  const auto made = scratch(slot.huge);
  memory::prefer_node(made, k_slot, node);
  int error = memory::populate(made, size);
  if (error == 0 && node_of_all(made, size) != node) error = ENOMEM;
  if (error == 0 && slot.huge && !faults_.page_map().may_be_huge(made)) error = ENOMEM;
  std::size_t moved = 0;
  if (error == 0) error = faults_.move(slot.address, made, size, moved);
  if (error != 0) {
    map_scratch(slot.huge);
    advise(slot.address, k_slot, MADV_DONTNEED);
    return error;
  }
  slot.filled = size;
  slot.node = node;
  return 0;
}

void Staging::clear(Slot& slot) noexcept {
  advise(slot.address, k_slot, MADV_DONTNEED);
  slot.filled = 0;
  slot.node = -1;
}

void Staging::record_exchange(Slot& empty, Slot& filled, std::size_t size) noexcept {
  const bool is_whole = !empty.huge || faults_.page_map().may_be_huge(empty.address);  // not split in the meantime
  const int node = is_whole ? node_of_all(empty.address, empty.huge ? k_page : size, k_query_step) : -1;
  if (node >= 0) {
    empty.filled = size;
    empty.node = node;
  } else {
    clear(empty);  // pages of several nodes
  }
  filled.filled -= size;
  if (filled.filled == 0) filled.node = -1;
}

void Staging::release_slot(Slot& slot) noexcept {
  Slot* beyond = nullptr;
  {
    const std::lock_guard lock(mutex_);
    slot.last_used = ++num_releases_;
    slot.acquired = false;
    beyond = oldest_beyond_limit();
    if (beyond) acquire(*beyond);
  }
  if (beyond) drop_pages(*beyond);
}

// Requires an acquired slot.
void Staging::drop_pages(Slot& slot) noexcept {
  clear(slot);
  const std::lock_guard lock(mutex_);
  slot.acquired = false;
}

void Staging::settle_accounting() noexcept {
  for (auto& slot : slots_) {
    {
      const std::lock_guard lock(mutex_);
      if (slot.acquired || slot.filled == 0 || slot.is_charged) continue;
      slot.is_charged = accounting_.charge(slot.node, slot.filled);
      if (slot.is_charged) continue;
      acquire(slot);
    }
    drop_pages(slot);
  }
}

bool Staging::trim(int node) noexcept {
  bool any = false;
  for (auto& slot : slots_) {
    {
      const std::lock_guard lock(mutex_);
      if (slot.acquired || slot.filled == 0 || slot.node != node) continue;
      acquire(slot);
    }
    drop_pages(slot);
    any = true;
  }
  return any;
}

// Returns the unused slot to empty where more than the limit are filled: the least recently used one, or null.
Staging::Slot* Staging::oldest_beyond_limit() noexcept {
  std::size_t filled = 0;
  Slot* oldest = nullptr;
  for (auto& slot : slots_) {
    if (slot.acquired || slot.filled == 0) continue;
    ++filled;
    if (!oldest || slot.last_used < oldest->last_used) oldest = &slot;
  }
  return filled > max_cached_ ? oldest : nullptr;
}

}  // namespace terrace::transfer
