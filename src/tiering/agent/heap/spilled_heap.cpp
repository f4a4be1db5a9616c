// SPDX-License-Identifier: Apache-2.0
// Implements the part of SpilledHeap that manages out-of-core blocks and chunks (the engine's units, each in
// memory or in the file), for the interposed malloc family. See spilled_heap.hpp.
#include "agent/heap/spilled_heap.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "core/rounding.hpp"
#include "memory/numa_node.hpp"

namespace terrace::agent {

namespace {

constexpr Bytes k_chunk{transfer::SpillEngine::k_chunk};
constexpr int k_read_write = PROT_READ | PROT_WRITE;
// The cache of freed blocks has at most 1/k_cache_share of the memory.
constexpr std::uint64_t k_cache_share = 16;
constexpr std::uint64_t k_scarce = 8;  // below 1/k_scarce of the memory free, no block is cached

// Completes the engine's parts with the heap's address space.
transfer::SpillEngine::Parts in(const memory::RegionSpace& space, transfer::SpillEngine::Parts parts) {
  parts.base = space.base();
  parts.size = space.reserved().value;
  return parts;
}

}  // namespace

SpilledHeap::SpilledHeap(Bytes reserve, transfer::SpillEngine::Parts parts,
                         void (*on_refused)(std::size_t size, std::size_t alignment))
    : space_(reserve, k_chunk),
      counts_(parts.counts),
      max_cached_(std::min(parts.memory.value / k_cache_share, FreeBlockCache::k_max_bytes)),
      spill_(transfer::make_spill(in(space_, std::move(parts)))),
      on_refused_(on_refused),
      process_(getpid()) {}

bool SpilledHeap::is_owner_process() const noexcept { return getpid() == process_; }

bool SpilledHeap::overlaps(const void* address, std::size_t size) const noexcept {
  const auto start = reinterpret_cast<std::uint64_t>(address);
  return !clip(start, start + size).is_empty();
}

void SpilledHeap::lock() const {
  mutex_.lock();
  space_.lock();
}

void SpilledHeap::unlock() const {
  space_.unlock();
  mutex_.unlock();
}

// Clips the range to the heap's address space.
SpilledHeap::Span SpilledHeap::clip(std::uint64_t start, std::uint64_t end) const noexcept {
  const auto base = space_.base();
  return {std::max(start, base), std::min(page_up(end), base + space_.reserved().value)};
}

// Allocates chunks of their own for a block or mapping, `length` bytes of which the program may use.
void* SpilledHeap::allocate_chunks(std::size_t size, std::size_t alignment, Kind kind, std::size_t length,
                                   bool reports) noexcept {
  void* const block = space_.allocate(size, alignment);
  if (!block) {
    if (on_refused_ && reports) on_refused_(size, alignment);
    return nullptr;
  }
  const auto start = reinterpret_cast<std::uint64_t>(block);
  spill_->reserve(start, space_.find(block).size);
  try {
    const std::lock_guard guard(mutex_);
    if (!enable_access({start, start + space_.find(block).size})) throw std::bad_alloc();
    ranges_.set({start, start + length, kind, k_read_write});
  } catch (const std::bad_alloc&) {
    const std::lock_guard guard(mutex_);
    release_chunks({start, start + space_.find(block).size});
    return nullptr;
  }
  return block;
}

bool SpilledHeap::is_memory_scarce() const noexcept {
  const auto limit = counts_->limit.load(std::memory_order_relaxed);
  return counts_->content.load(std::memory_order_relaxed) > limit - limit / k_scarce;
}

// Returns whether a freed block may be cached: its protection and mappings are as allocated. Throws
// std::bad_alloc.
bool SpilledHeap::is_cacheable(const memory::RegionSpace::Block& block) const {
  if (block.size > max_cached_ || is_memory_scarce() || locks_.load(std::memory_order_relaxed)) return false;
  const auto parts = ranges_.within(block.address, block.address + block.size);
  return std::ranges::all_of(
      parts, [](const auto& part) { return part.kind == Kind::block && part.protection == k_read_write; });
}

// Returns a freed block of this size from the cache, or null. Empties the cache if memory is scarce.
void* SpilledHeap::take_cached(std::size_t size, std::size_t alignment) noexcept {
  const std::lock_guard guard(mutex_);
  if (is_memory_scarce())
    for (auto block = cache_.take_oldest(); block.size > 0; block = cache_.take_oldest())
      release_now(block.address, block.size);
  const auto block = cache_.take(size, alignment);
  return reinterpret_cast<void*>(block.address);  // NOLINT(performance-no-int-to-ptr)
}

void* SpilledHeap::allocate(std::size_t size, std::size_t alignment, bool zeros) noexcept {
  if (size > space_.reserved().value) return nullptr;
  const auto length = align_up(std::max<std::size_t>(size, 1), k_granule);
  void* const kept = take_cached(length, alignment);
  if (!kept) return allocate_chunks(size, alignment, Kind::block, length);
  if (zeros) std::memset(kept, 0, size);
  return kept;
}

void SpilledHeap::set_preference(const void* block, transfer::Preference preference) noexcept {
  const auto found = space_.find(block);
  if (found.size > 0) spill_->prefer(found.address, found.size, preference);
}

void SpilledHeap::before_fork(std::span<const std::uint64_t> at_once) noexcept {
  lock();
  spill_->before_fork(at_once);
}

void SpilledHeap::after_fork() noexcept {
  spill_->after_fork();
  if (protects_) apply_all_rights();
  unlock();
}

void SpilledHeap::in_child() noexcept {
  is_copy_ = true;
  spill_->in_child();
  apply_all_rights();
  unlock();
}

// Restores the program's page protections after a fork.
void SpilledHeap::apply_all_rights() noexcept {
  const auto base = space_.base();
  try {
    apply_rights({base, base + space_.reserved().value});
  } catch (const std::bad_alloc&) {  // no memory: everything stays readable and writable
  }
}

// Returns the program's block that begins at the address, or an empty one. Requires: mutex_ is held.
memory::RegionSpace::Block SpilledHeap::block_at(const void* address) const noexcept {
  const auto start = reinterpret_cast<std::uint64_t>(address);
  const auto found = space_.find(address);
  if (found.size == 0 || found.address != start || cache_.contains(start)) return {};
  const auto kind = ranges_.kind_at(start);
  return kind == Kind::block || kind == Kind::foreign_in_block ? found : memory::RegionSpace::Block{};
}

std::size_t SpilledHeap::size_of(const void* block) const noexcept {
  if (!space_.contains(block)) return 0;
  const std::lock_guard guard(mutex_);
  return block_at(block).size;
}

bool SpilledHeap::is_invalid_block(const void* address) const noexcept {
  if (!space_.contains(address) || is_copy_) return false;
  const auto start = reinterpret_cast<std::uint64_t>(address);
  const std::lock_guard guard(mutex_);
  if (block_at(address).size > 0 || handed_over_.contains(align_down(start, k_granule))) return false;
  const auto kind = ranges_.kind_at(start);
  return !kind || *kind == Kind::block;
}

bool SpilledHeap::grow(void* block, std::size_t size) noexcept {
  const std::lock_guard guard(mutex_);
  const auto found = block_at(block);
  const auto length = align_up(size, k_granule);
  if (found.size == 0 || length < size || length <= found.size || !space_.resize(block, length)) return false;
  try {
    if (!enable_access({found.address + found.size, found.address + length})) throw std::bad_alloc();
    ranges_.set({found.address + found.size, found.address + length, Kind::block, k_read_write});
  } catch (const std::bad_alloc&) {
    space_.resize(block, found.size);
    return false;
  }
  spill_->reserve(found.address + found.size, length - found.size);
  return true;
}

bool SpilledHeap::shrink(void* block, std::size_t size) noexcept {
  const std::lock_guard guard(mutex_);
  const auto found = block_at(block);
  const auto length = align_up(size, k_granule);
  if (size < k_min || length >= found.size) return false;
  const auto end = found.address + found.size;
  try {
    ranges_.remove(found.address + length, end);
  } catch (const std::bad_alloc&) {
    return false;
  }
  release_chunks({found.address + length, end});
  return true;
}

bool SpilledHeap::release(void* block) noexcept {
  const std::lock_guard guard(mutex_);
  const auto found = block_at(block);
  if (found.size == 0) return false;
  try {
    if (is_cacheable(found)) {
      while (cache_.is_full() || cache_.bytes() + found.size > max_cached_) {
        const auto oldest = cache_.take_oldest();
        release_now(oldest.address, oldest.size);
      }
      cache_.insert({found.address, found.size});
      return true;
    }
  } catch (const std::bad_alloc&) {  // no memory: not cached
  }
  release_now(found.address, found.size);
  return true;
}

// Releases a block without caching it. Requires: mutex_ is held.
void SpilledHeap::release_now(std::uint64_t address, std::uint64_t size) noexcept {
  try {
    ranges_.remove(address, address + size);
  } catch (const std::bad_alloc&) {
    return;  // no memory: the block is leaked
  }
  release_chunks({address, address + size});
}

// Makes free chunks inaccessible, so that use after free or unmap faults.
void SpilledHeap::disable_access(Span chunks) noexcept {
  int rights = PROT_NONE;
  try {
    inaccessible_.set({chunks.start, chunks.end, Kind::foreign, rights});
  } catch (const std::bad_alloc&) {
    rights = k_read_write;  // no memory to record it
  }
  syscall(SYS_mprotect, chunks.start, chunks.end - chunks.start, rights);
}

// Makes chunks accessible again. Returns false if the system lacks memory for it.
bool SpilledHeap::enable_access(Span chunks) noexcept {
  if (!inaccessible_.overlaps(chunks.start, chunks.end)) return true;
  if (syscall(SYS_mprotect, chunks.start, chunks.end - chunks.start, k_read_write) != 0) return false;
  try {
    inaccessible_.remove(chunks.start, chunks.end);
  } catch (const std::bad_alloc&) {  // no memory: made accessible again later
  }
  return true;
}

// Releases chunks that contain nothing of the program, and resets their state.
void SpilledHeap::release_chunks(Span chunks) noexcept {
  const auto size = chunks.end - chunks.start;
  spill_->release(chunks.start, size);
  if (locks_.load(std::memory_order_relaxed)) syscall(SYS_munlock, chunks.start, size);
  disable_access(chunks);
  handed_over_.erase(handed_over_.lower_bound(chunks.start), handed_over_.lower_bound(chunks.end));
  space_.release_part(chunks.start, size);
}

// Calls `body(first, end)` for each run of the range's chunks that satisfy `is_one`, until one returns false.
template <class Is, class Body>
bool for_runs(std::uint64_t start, std::uint64_t end, Is&& is_one, Body&& body) {
  start = align_down(start, SpilledHeap::k_granule);
  end = align_up(end, SpilledHeap::k_granule);
  auto first = start;
  for (auto chunk = start; chunk < end; chunk += SpilledHeap::k_granule) {
    if (is_one(chunk)) continue;
    if (first < chunk && !body(first, chunk)) return false;
    first = chunk + SpilledHeap::k_granule;
  }
  return first >= end || body(first, end);
}

bool SpilledHeap::is_taken(std::uint64_t chunk) const noexcept {
  return space_.find(reinterpret_cast<const void*>(chunk)).size > 0;  // NOLINT(performance-no-int-to-ptr)
}

// Releases the range's chunks that have become empty.
void SpilledHeap::release_empty_chunks(Span span) noexcept {
  for_runs(
      span.start, span.end,
      [&](std::uint64_t chunk) { return !ranges_.overlaps(chunk, chunk + k_granule) && is_taken(chunk); },
      [&](std::uint64_t first, std::uint64_t end) {
        release_chunks({first, end});
        return true;
      });
}

// Reports to the engine the range's chunks that are entirely managed and have the default protection.
void SpilledHeap::report_default_rights(Span span) {
  auto start = align_down(span.start, k_granule);
  const auto end = align_up(span.end, k_granule);
  const auto report = [&](std::uint64_t until) {
    if (start < until) spill_->change_protection(start, until - start, true);
  };
  for (const auto& part : ranges_.within(start, end)) {
    if (part.is_managed() && part.protection == k_read_write) continue;
    report(align_down(part.start, k_granule));
    start = std::max(start, align_up(part.end, k_granule));
  }
  report(end);
}

// Allocates these chunks. Returns false if one is taken, or the system lacks memory.
bool SpilledHeap::claim(std::uint64_t start, std::uint64_t size) noexcept {
  if (!space_.allocate_at(start, size)) return false;
  if (enable_access({start, start + size})) {
    spill_->reserve(start, size);
    return true;
  }
  space_.release_part(start, size);
  return false;
}

// Allocates the free chunks of the range. Returns false if that fails.
bool SpilledHeap::claim_free(Span span) noexcept {
  return for_runs(
      span.start, span.end, [&](std::uint64_t chunk) { return !is_taken(chunk); },
      [&](std::uint64_t first, std::uint64_t end) { return claim(first, end - first); });
}

// Pins the range for a device's driver (interpose/device_memory.cpp).
void SpilledHeap::pin(const void* address, std::size_t size) noexcept {
  const auto start = reinterpret_cast<std::uint64_t>(address);
  const auto span = clip(align_down(start, k_page), page_up(start + size));
  if (span.is_empty()) return;
  try {
    const std::lock_guard guard(mutex_);
    if (MappedRanges::is_covered(ranges_.within(span.start, span.end), span.start, span.end))
      hand_over_with_content(span);
  } catch (const std::bad_alloc&) {  // no memory: the device's driver will fail
  }
  memory::populate(span.start, span.end - span.start);  // untouched memory has no pages yet
}

}  // namespace terrace::agent
