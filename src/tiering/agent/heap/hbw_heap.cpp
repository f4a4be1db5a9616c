// SPDX-License-Identifier: Apache-2.0
// Selects the machine's fast places (HBM) and allocates blocks from them by memkind's policies, for the functions
// of hbwmalloc.h (api/hbw_api.cpp). See hbw_heap.hpp.
#include "agent/heap/hbw_heap.hpp"

#include <linux/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <limits>
#include <new>
#include <span>

#include "core/rounding.hpp"
#include "machine/ordering.hpp"
#include "memory/numa_node.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // <linux/mman.h>, since Linux 5.14
#endif

namespace terrace::agent {

namespace {

DomainId domain_of(const machine::Machine& machine, InitiatorId initiator) {
  return machine.initiators()[initiator].domain;
}

// Returns a sort key, smaller for nearer places: the NUMA distance, or without one the latency in picoseconds.
std::uint64_t nearness(const machine::Machine& machine, InitiatorId initiator, PlaceId place) {
  const auto* const path = machine.find_path(initiator, place);
  if (!path) return std::numeric_limits<std::uint64_t>::max();
  if (path->distance > 0) return static_cast<std::uint64_t>(path->distance);
  return 256 + static_cast<std::uint64_t>(path->latency.value * 1e12);
}

}  // namespace

std::vector<PlaceId> faster_than_home(const machine::Machine& machine, DomainId domain) {
  const auto initiator = machine.domains()[domain].initiator;
  const auto home = machine.home(domain);
  const auto standings = machine::rank_places(machine, initiator, "bandwidth");
  const auto at = std::ranges::find(standings, home, &machine::RankedPlace::place);
  std::vector<PlaceId> faster;
  for (const auto& one : standings)
    if (!one.computes && at != standings.end() && one.rank < at->rank && machine.place(one.place).numa_node >= 0)
      faster.push_back(one.place);
  return faster;
}

HbwHeap::HbwHeap(OrderedHeap& heap, const std::optional<std::vector<int>>& nodes) : heap_(heap) {
  const auto& machine = heap.machine();
  const auto initiator = heap.initiator();
  const auto add = [&](PlaceId place) {
    if (std::ranges::find(fast_, place) == fast_.end()) fast_.push_back(place);
  };
  if (nodes) {
    for (std::size_t i = 0; i < machine.places().size(); ++i)
      if (std::ranges::find(*nodes, machine.places()[i].numa_node) != nodes->end()) add(static_cast<PlaceId>(i));
  } else {
    // Fast places of the own domain first, then those of other domains.
    for (const auto place : faster_than_home(machine, domain_of(machine, initiator))) add(place);
    for (std::size_t d = 0; d < machine.domains().size(); ++d)
      for (const auto place : faster_than_home(machine, static_cast<DomainId>(d)))
        if (machine.place(place).domain == d) add(place);
  }
  std::ranges::stable_sort(fast_, {}, [&](PlaceId place) { return nearness(machine, initiator, place); });
  for (const auto place : fast_) fast_nodes_.push_back(machine.place(place).numa_node);
  for (const auto place : fast_)
    if (nearness(machine, initiator, place) == nearness(machine, initiator, fast_.front()))
      nearest_.push_back(place);
  if (fast_.empty()) return;
  for (const auto& place : machine.places()) max_size_ += place.capacity.value;
  auto preferred = nearest_;
  for (const auto& one : machine::rank_places(machine, initiator, "normal"))
    if (std::ranges::find(fast_, one.place) == fast_.end()) preferred.push_back(one.place);
  using Rule = OrderedHeap::Rule;
  const auto set = [&](Policy policy, const char* name, const std::vector<PlaceId>& places, Rule rule) {
    orders_[static_cast<std::size_t>(policy)] = heap_.add_ordering(name, places, rule);
  };
  set(Policy::bind, "hbw bind", nearest_, Rule::strict);
  set(Policy::bind_all, "hbw bind all", fast_, Rule::strict);
  set(Policy::preferred, "hbw preferred", preferred, Rule::spill);
  set(Policy::interleave, "hbw interleave", fast_, Rule::interleave);
}

void* HbwHeap::allocate(Policy policy, std::size_t size, std::size_t alignment, bool zeros) noexcept {
  const int order = order_of(policy);
  // Larger than all memory: eager population would exhaust the machine. Plain memory is populated at first touch.
  if (order < 0 || size > max_size_) return nullptr;
  for (int attempt = 0; attempt < 2; ++attempt) {
    void* block = nullptr;
    if (SmallBlocks::fits(size, alignment)) block = heap_.small().allocate(size, alignment, order, zeros);
    if (!block) block = heap_.allocate(size, alignment, order, OrderedHeap::FillMode::eager, zeros);
    if (block) return block;
    // Retry once with the free extents of small blocks.
    heap_.small().purge();
  }
  return nullptr;
}

// Sets the policy of hugetlb pages. MPOL_BIND is harmless here: an exhausted pool gives an error, not an OOM kill.
int HbwHeap::bind_pages(std::uint64_t address, std::size_t size, Policy policy) const noexcept {
  constexpr std::size_t k_bits = 1024;
  constexpr int k_preferred = 1, k_bind = 2;  // <linux/mempolicy.h>
  std::array<std::uint64_t, k_bits / 64> mask{};
  const auto& places = policy == Policy::bind_all ? fast_ : nearest_;
  for (const auto place : places) {
    const auto node = static_cast<std::size_t>(heap_.machine().place(place).numa_node);
    if (node >= k_bits) return EINVAL;
    mask[node / 64] |= 1ULL << (node % 64);
    if (policy == Policy::preferred) break;
  }
  if (places.empty()) return policy == Policy::preferred ? 0 : ENOMEM;
  const int mode = policy == Policy::preferred ? k_preferred : k_bind;
  return ::syscall(SYS_mbind, address, size, mode, mask.data(), k_bits + 1, 0) == 0 ? 0 : errno;
}

void* HbwHeap::allocate_pages(Policy policy, std::size_t size, std::size_t alignment, std::size_t page) noexcept {
  if (policy != Policy::preferred && fast_.empty()) return nullptr;
  if (size > PTRDIFF_MAX - 2 * page || alignment > PTRDIFF_MAX / 4) return nullptr;
  const auto length = align_up(size, page);
  const auto more = alignment > page ? alignment : 0;
  const int size_bits = std::countr_zero(page) << MAP_HUGE_SHIFT;
  const auto got = ::syscall(SYS_mmap, 0L, length + more, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE | size_bits, -1, 0L);
  if (got == -1) return nullptr;
  const auto mapped = static_cast<std::uint64_t>(got);
  const auto block = align_up(mapped, std::max(alignment, page));
  bool done = bind_pages(block, length, policy) == 0 && memory::populate(block, length) == 0;
  if (done) {
    try {
      const std::lock_guard guard(mutex_);
      pages_.emplace(block, Pages{mapped, length + more, length});
      pages_count_.store(pages_.size(), std::memory_order_release);
    } catch (const std::bad_alloc&) {
      done = false;
    }
  }
  if (!done) {
    ::syscall(SYS_munmap, mapped, length + more);
    return nullptr;
  }
  return reinterpret_cast<void*>(block);  // NOLINT(performance-no-int-to-ptr)
}

bool HbwHeap::release(void* block) noexcept {
  if (const int order = heap_.small().order_of(block); order >= 0) {
    SmallBlocks::release(order, block);
    return true;
  }
  if (heap_.contains(block)) {
    heap_.release(block);
    return true;
  }
  if (pages_count_.load(std::memory_order_acquire) == 0) return false;
  Pages pages;
  {
    const std::lock_guard guard(mutex_);
    const auto found = pages_.find(reinterpret_cast<std::uint64_t>(block));
    if (found == pages_.end()) return false;
    pages = found->second;
    pages_.erase(found);
    pages_count_.store(pages_.size(), std::memory_order_release);
  }
  ::syscall(SYS_munmap, pages.mapped, pages.mapped_size);
  return true;
}

std::size_t HbwHeap::size_of(const void* block) const noexcept {
  if (heap_.small().order_of(block) >= 0) return SmallBlocks::size_of(block);
  if (heap_.contains(block)) return heap_.size_of(block);
  if (pages_count_.load(std::memory_order_acquire) == 0) return 0;
  const std::lock_guard guard(mutex_);
  const auto found = pages_.find(reinterpret_cast<std::uint64_t>(block));
  return found == pages_.end() ? 0 : found->second.size;
}

PageVerdict verify_pages(std::uint64_t address, std::size_t size, bool touch, std::span<const int> fast) noexcept {
  if (address + size < address || page_up(address + size) < address) return PageVerdict::not_mapped;
  const auto end = page_up(address + size);
  std::array<int, 512> nodes;
  std::array<unsigned char, nodes.size()> resident;
  PageVerdict verdict = PageVerdict::fast;
  for (auto at = page_down(address); at < end; at += nodes.size() * k_page) {
    const auto some = std::span(nodes).first(std::min<std::uint64_t>(nodes.size(), (end - at) / k_page));
    const auto bytes = some.size() * k_page;
    // mincore(2) fails if a page is not mapped.
    if (::syscall(SYS_mincore, at, bytes, resident.data()) != 0) return PageVerdict::not_mapped;
    // Like a read and a write of a byte of each page, but with an error instead of a signal.
    if (touch && ::syscall(SYS_madvise, at, bytes, MADV_POPULATE_WRITE) != 0) return PageVerdict::not_mapped;
    if (memory::query_pages(at, some) != 0) return PageVerdict::not_mapped;
    const auto is_fast = [&](int node) { return std::ranges::find(fast, node) != fast.end(); };
    if (!std::ranges::all_of(some, is_fast)) verdict = PageVerdict::other;
  }
  return verdict;
}

}  // namespace terrace::agent
