// SPDX-License-Identifier: Apache-2.0
// Implements the part of OrderedHeap that places ranges of the program (terrace_apply(), terrace_where()) and
// tracks where data is. See ordered_heap.hpp.
//
// Unmapping by the program itself is intercepted. The C library unmaps its own blocks without an interposable
// call. Then the memory policies that apply() has set are gone, which a query of the kernel reveals.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <new>
#include <utility>

#include "agent/heap/ordered_heap.hpp"
#include "agent/heap/ordered_state.hpp"
#include "core/rounding.hpp"

namespace terrace::agent {

namespace {

constexpr std::uint64_t k_few = 4ULL << 20;  // bytes; below this the kernel is not queried

}  // namespace

const char* OrderedHeap::where(const void* address) const noexcept {
  if (is_shut_down()) return nullptr;
  const auto at = reinterpret_cast<std::uint64_t>(address);
  memory::PlacedRanges::Range range;
  {
    const std::lock_guard guard(mutex_);
    range = placed_.find(at);
  }
  if (range.size == 0 || range.place == k_no_place) return nullptr;
  if (order_of(static_cast<int>(range.intent)).rule == Rule::interleave) {
    const auto error =
        state_.load(std::memory_order_acquire)->system.query_places(page_down(at), {&range.place, 1});
    return error != 0 || range.place == k_no_place ? nullptr : parts_.machine->place(range.place).name.c_str();
  }
  if (!contains(address) && !has_policy(at, range.place)) return nullptr;
  return parts_.machine->place(range.place).name.c_str();
}

std::vector<memory::PlacedRanges::Range> OrderedHeap::placed(std::uint64_t address, std::uint64_t size) const {
  const std::lock_guard guard(mutex_);
  return placed_.find_overlapping(address, size);
}

// Returns whether the page still has the memory policy that apply() has set.
bool OrderedHeap::has_policy(std::uint64_t address, PlaceId place) const noexcept {
  return state_.load(std::memory_order_acquire)->system.has_policy_for(page_down(address), place);
}

// Removes the placed parts of the range from index and ledger.
void OrderedHeap::forget(std::uint64_t address, std::uint64_t size) noexcept {
  release_accounting(detach_ranges(address, size));
}

// Called before mremap(2), and by forget(); the returned ranges stay charged to the ledger.
OrderedHeap::Ranges OrderedHeap::detach_ranges(std::uint64_t address, std::uint64_t size) noexcept {
  const std::lock_guard guard(mutex_);
  try {
    return placed_.remove(address, size);
  } catch (const std::bad_alloc&) {  // no memory: it stays recorded
    return {};
  }
}

// Releases what detached ranges hold in the ledger and in the counts.
void OrderedHeap::release_accounting(const Ranges& ranges) noexcept {
  {
    const std::lock_guard guard(mutex_);
    for (const auto& range : ranges) count(range, false);
  }
  if (is_shut_down()) return;
  for (const auto& range : ranges)
    if (range.held > 0) parts_.ledger->give(range.place, {range.held});
}

void OrderedHeap::reattach_ranges(const Ranges& ranges, std::uint64_t from, std::uint64_t to,
                                  std::uint64_t size) noexcept {
  Ranges gone;
  try {
    memory::PlacedRanges lifted;
    for (const auto& range : ranges) lifted.add(range);
    auto stay = lifted.remove(from, size);
    gone = lifted.find_overlapping(0, ~std::uint64_t{0});
    const std::lock_guard guard(mutex_);
    note_applied(to, size);
    for (auto& range : stay) {
      range.address = range.address - from + to;
      placed_.add(range);
    }
  } catch (const std::bad_alloc&) {  // no memory: unrecorded ranges stay charged
  }
  release_accounting(gone);
}

void OrderedHeap::on_unmapped(std::uint64_t address, std::uint64_t size) noexcept {
  await_filled(address, size);
  forget(address, size);
}

// Requires: mutex_ is held.
void OrderedHeap::note_applied(std::uint64_t address, std::uint64_t size) noexcept {
  applied_begin_.store(std::min(applied_begin_.load(), address));
  applied_end_.store(std::max(applied_end_.load(), address + size));
}

// Finds ranges outside the heap that were unmapped without a notification. Queries the kernel again when as many
// bytes have been applied as were still mapped at the last query: amortised constant cost.
void OrderedHeap::forget_unmapped(std::uint64_t more) {
  const auto& space = state_.load(std::memory_order_acquire)->space;
  Ranges ranges;
  {
    const std::lock_guard guard(mutex_);
    applied_since_ += more;
    if (applied_since_ < std::max(applied_there_, k_few)) return;
    applied_since_ = 0;
    const auto begin = applied_begin_.load();
    if (begin < applied_end_) ranges = placed_.find_overlapping(begin, applied_end_ - begin);
  }
  std::uint64_t there = 0;
  for (const auto& range : ranges) {
    if (space.contains(reinterpret_cast<void*>(range.address))) continue;  // NOLINT(performance-no-int-to-ptr)
    const auto end = range.address + range.size;
    for (auto at = range.address; at < end;) {
      const auto size = std::min(align_down(at, k_huge_page) + k_huge_page, end) - at;
      if (has_policy(at, range.place)) {
        there += size;
      } else if (claim(at, size)) {
        if (!has_policy(at, range.place)) forget(at, size);
        const std::lock_guard guard(mutex_);
        filling_.erase(at);
      }
      at += size;
    }
  }
  const std::lock_guard guard(mutex_);
  applied_there_ = there;
}

int OrderedHeap::apply(std::uint64_t address, std::uint64_t size, int intent) noexcept {
  if (is_shut_down()) return EPERM;
  auto* const here = ensure_state();
  if (!here) return ENOMEM;
  try {
    forget_unmapped(size);
    while (!claim(address, size)) ::syscall(SYS_sched_yield);
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
  {
    const std::lock_guard guard(mutex_);
    note_applied(address, size);
  }
  if (auto* const traps = here->traps.load()) traps->unregister_range(address, size);
  forget(address, size);
  const auto error = fill(address, size, intent, memory::OrderedFill::Content::some).error;
  const std::lock_guard guard(mutex_);
  filling_.erase(address);
  auto block = blocks_.lower_bound(address + size);
  while (block != blocks_.begin() && (--block)->first + block->second.size > address)
    block->second.is_cacheable = false;
  return error;
}

}  // namespace terrace::agent
