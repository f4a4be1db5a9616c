// SPDX-License-Identifier: Apache-2.0
// Implements the allocator of large blocks from one reserved address range, which the agent's heaps use. See
// region_space.hpp.
//
// The range is reserved without access rights and made accessible from its beginning on, in growing steps. So it
// has two mappings in the kernel, however many blocks there are, and mlockall(2) does not populate the range. If
// some of it is monitored, the agent locks memory in place of the kernel (agent/interpose/locking.cpp).
#include "memory/region_space.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "core/address_space.hpp"
#include "core/rounding.hpp"

namespace terrace::memory {

namespace {

constexpr std::uint64_t k_min_reserve = 64ULL << 20;
// Accessible memory counts against strict overcommit and RLIMIT_DATA whether it is used or not: make at most this
// much accessible ahead of need.
constexpr std::uint64_t k_access_step = 16ULL << 20;

// Calls the kernel directly: if this code is linked into a program's allocator, mmap() is the allocator's own.
void* map(void* address, std::uint64_t size, int protection, int flags) {
  const auto result = syscall(SYS_mmap, address, size, protection, flags | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
  return result == -1 ? nullptr : reinterpret_cast<void*>(result);  // NOLINT(performance-no-int-to-ptr)
}

void* pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

RegionSpace::RegionSpace(Bytes reserve, Bytes granule) : granule_(granule.value) {
  for (auto size = reservable(reserve).value; size >= k_min_reserve; size /= 2) {
    void* const got = map(nullptr, size + k_huge_page, PROT_NONE, MAP_NORESERVE);
    if (!got) continue;
    mapped_ = reinterpret_cast<std::uint64_t>(got);
    mapped_size_ = size + k_huge_page;
    base_ = align_up(mapped_, k_huge_page);
    const auto usable = size / granule_ * granule_;
    reserved_ = usable;
    free_.release(0, usable);
    // Core dumps contain what is accessible, not what is reserved.
    madvise(got, mapped_size_, MADV_DONTDUMP);
    return;
  }
}

RegionSpace::~RegionSpace() {
  if (mapped_size_ > 0 && !is_retired_) syscall(SYS_munmap, mapped_, mapped_size_);
}

// Gives access rights to the range up to `end`. Returns false if the system has no memory for it.
bool RegionSpace::make_accessible(std::uint64_t end) {
  if (end <= accessible_) return true;
  for (const auto step : {k_access_step, granule_}) {
    const auto to = std::min(align_up(end, step), reserved_.load());
    if (mprotect(pointer(base_ + accessible_), to - accessible_, PROT_READ | PROT_WRITE) != 0) continue;
    madvise(pointer(base_ + accessible_), to - accessible_, MADV_DODUMP);
    accessible_ = to;
    return true;
  }
  return false;
}

// Drops the pages of free space. A huge page populated by a small block reaches into the free space next to it; a
// new block must have no pages, so that its own policy and its account in the ledger apply to them.
void RegionSpace::drop_pages(std::uint64_t offset, std::uint64_t size) {
  if (offset < accessible_) madvise(pointer(base_ + offset), std::min(size, accessible_ - offset), MADV_DONTNEED);
}

// Drops the pages of free space that shares huge pages with [offset, offset + size), which is free: what such a
// huge page leaves behind when its last block is freed.
void RegionSpace::drop_shared_huge_pages(std::uint64_t offset, std::uint64_t size) {
  const auto next = blocks_.lower_bound(offset);
  const auto before = next == blocks_.begin() ? 0 : std::prev(next)->first + std::prev(next)->second;
  const auto behind = next == blocks_.end() ? reserved_.load() : next->first;
  const auto begin = std::max(before, align_down(offset, k_huge_page));
  const auto end = std::min(behind, align_up(offset + size, k_huge_page));
  if (begin < offset) drop_pages(begin, offset - begin);
  if (end > offset + size) drop_pages(offset + size, end - offset - size);
}

// Returns the pages to the system, so that the next owner of the range gets zeros.
void RegionSpace::release_pages(std::uint64_t offset, std::uint64_t size) {
  if (madvise(pointer(base_ + offset), size, MADV_DONTNEED) != 0)  // locked memory refuses
    map(pointer(base_ + offset), size, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_NORESERVE);
  try {
    free_.release(offset, size);
  } catch (const std::bad_alloc&) {
    // No memory for the record: the range leaks.
  }
}

void RegionSpace::release_block(std::uint64_t offset, std::uint64_t size) {
  if (is_retired_) {
    syscall(SYS_munmap, base_ + offset, size);
    return;
  }
  release_pages(offset, size);
  drop_shared_huge_pages(offset, size);
}

// Releases the blocks retained longest, until at most so many bytes and blocks are left.
void RegionSpace::release_retained(std::uint64_t max_bytes, std::size_t max_blocks) {
  auto end = retained_.begin();
  for (; end != retained_.end(); ++end) {
    const auto left = static_cast<std::size_t>(retained_.end() - end);
    if (retained_bytes_ <= max_bytes && left <= max_blocks) break;
    retained_bytes_ -= end->size;
    release_block(end->address, end->size);
  }
  retained_.erase(retained_.begin(), end);
}

// Takes free space, for which retained blocks give way.
std::optional<std::uint64_t> RegionSpace::find_space(std::uint64_t length, std::uint64_t boundary) {
  auto found = free_.allocate(length, boundary, base_);
  if (found || retained_.empty()) return found;
  release_retained(0, 0);
  return free_.allocate(length, boundary, base_);
}

void* RegionSpace::allocate(std::size_t size, std::size_t alignment) noexcept {
  if (size > reserved_) return nullptr;
  const auto length = align_up(std::max<std::uint64_t>(size, 1), granule_);
  const auto boundary = std::max<std::uint64_t>(alignment, length >= k_huge_page ? k_huge_page : granule_);
  const std::lock_guard guard(mutex_);
  if (is_retired_) return nullptr;
  try {
    const auto found = find_space(length, boundary);
    if (!found) return nullptr;
    const auto start = *found;
    drop_pages(start, length);
    if (!make_accessible(start + length)) {
      free_.release(start, length);
      return nullptr;
    }
    blocks_.emplace(start, length);
    in_use_ += length;
    return pointer(base_ + start);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// Removes the block that begins at the address from those in use. Its pages stay. Address: the offset.
std::optional<RegionSpace::Block> RegionSpace::remove_block(void* address) noexcept {
  const auto found = blocks_.find(reinterpret_cast<std::uint64_t>(address) - base_);
  if (found == blocks_.end()) return std::nullopt;
  const Block block{found->first, found->second};
  blocks_.erase(found);
  in_use_ -= block.size;
  return block;
}

std::size_t RegionSpace::release(void* address) noexcept {
  const std::lock_guard guard(mutex_);
  const auto block = remove_block(address);
  if (!block) return 0;
  const auto [start, length] = *block;
  release_block(start, length);
  return length;
}

std::size_t RegionSpace::retain(void* address) noexcept {
  const std::lock_guard guard(mutex_);
  const auto block = remove_block(address);
  if (!block) return 0;
  const auto [start, length] = *block;
  if (is_retired_ || length > k_max_retained_block) {
    release_block(start, length);
    return length;
  }
  try {
    retained_.push_back({start, length});
    retained_bytes_ += length;
    release_retained(k_max_retained, k_max_retained_blocks);
  } catch (const std::bad_alloc&) {
    release_block(start, length);
  }
  return length;
}

void* RegionSpace::reuse(std::size_t size, std::size_t alignment) noexcept {
  if (size > k_max_retained_block) return nullptr;
  const auto length = align_up(std::max<std::uint64_t>(size, 1), granule_);
  const std::lock_guard guard(mutex_);
  const auto fits = [&](const Block& one) { return one.size == length && (base_ + one.address) % alignment == 0; };
  const auto found = std::find_if(retained_.rbegin(), retained_.rend(), fits);
  if (found == retained_.rend()) return nullptr;
  const auto start = found->address;
  try {
    blocks_.emplace(start, length);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  retained_.erase(std::prev(found.base()));
  retained_bytes_ -= length;
  in_use_ += length;
  return pointer(base_ + start);
}

void RegionSpace::release_part(std::uint64_t address, std::uint64_t size) noexcept {
  const auto first = address - base_;
  const auto end = first + size;
  const std::lock_guard guard(mutex_);
  auto block = blocks_.upper_bound(first);
  if (block != blocks_.begin()) --block;
  while (block != blocks_.end() && block->first < end) {
    const auto [start, length] = *block;
    const auto from = std::max(start, first);
    const auto to = std::min(start + length, end);
    if (from >= to) {
      ++block;
      continue;
    }
    if (to < start + length) {
      try {
        blocks_.emplace(to, start + length - to);
      } catch (const std::bad_alloc&) {
        return;  // the rest stays allocated
      }
    }
    if (from > start) {
      block->second = from - start;
      ++block;
    } else {
      block = blocks_.erase(block);
    }
    in_use_ -= to - from;
    release_pages(from, to - from);
  }
}

bool RegionSpace::allocate_at(std::uint64_t address, std::uint64_t size) noexcept {
  const auto start = address - base_;
  if (start >= reserved_ || size > reserved_ - start) return false;
  const std::lock_guard guard(mutex_);
  if (is_retired_) return false;
  try {
    release_retained(0, 0);
    if (!free_.allocate_at(start, size)) return false;
    if (!make_accessible(start + size)) {
      free_.release(start, size);
      return false;
    }
    blocks_.emplace(start, size);
    in_use_ += size;
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool RegionSpace::resize(void* address, std::size_t size) noexcept {
  if (size > reserved_) return false;
  const auto new_length = align_up(std::max<std::uint64_t>(size, 1), granule_);
  const std::lock_guard guard(mutex_);
  const auto block = blocks_.find(reinterpret_cast<std::uint64_t>(address) - base_);
  if (block == blocks_.end() || is_retired_) return false;
  const auto [start, length] = *block;
  if (new_length < length) {
    in_use_ -= length - new_length;
    release_pages(start + new_length, length - new_length);
  } else if (new_length > length) {
    try {
      if (!free_.allocate_at(start + length, new_length - length)) return false;
    } catch (const std::bad_alloc&) {
      return false;
    }
    drop_pages(start + length, new_length - length);
    if (!make_accessible(start + new_length)) {
      free_.release(start + length, new_length - length);
      return false;
    }
    in_use_ += new_length - length;
  }
  block->second = new_length;
  return true;
}

// Unmaps the reservation from `end` on. Requires: no block lies there.
void RegionSpace::unmap_above(std::uint64_t end) {
  syscall(SYS_munmap, base_ + end, mapped_ + mapped_size_ - base_ - end);
  mapped_size_ = base_ + end - mapped_;
  reserved_ = end;
}

void RegionSpace::retire() noexcept {
  const std::lock_guard guard(mutex_);
  release_retained(0, 0);
  if (std::exchange(is_retired_, true) || mapped_size_ == 0) return;
  std::uint64_t free = 0;
  for (const auto& [start, length] : blocks_) {
    if (start > free) syscall(SYS_munmap, base_ + free, start - free);
    free = start + length;
  }
  unmap_above(free);
}

RegionSpace::Block RegionSpace::find(const void* address) const noexcept {
  const auto offset = reinterpret_cast<std::uint64_t>(address) - base_;
  if (offset >= reserved_) return {};
  const std::lock_guard guard(mutex_);
  auto block = blocks_.upper_bound(offset);
  if (block == blocks_.begin()) return {};
  --block;
  if (offset - block->first >= block->second) return {};
  return {base_ + block->first, block->second};
}

Bytes RegionSpace::in_use() const noexcept {
  const std::lock_guard guard(mutex_);
  return Bytes{in_use_};
}

}  // namespace terrace::memory
