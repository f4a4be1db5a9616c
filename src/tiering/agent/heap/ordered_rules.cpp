// SPDX-License-Identifier: Apache-2.0
// Implements the part of OrderedHeap that fills memory by strict and interleaved orderings (struct Order), the
// policies of memkind's API (api/hbw_api.cpp). See ordered_heap.hpp.
//
// Does not use MPOL_BIND, because an exhausted node would invoke the out-of-memory killer. Instead, memory is
// populated with a preferred node, checked, and released if a page is elsewhere.
#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <span>
#include <vector>

#include "agent/heap/ordered_heap.hpp"
#include "agent/heap/ordered_state.hpp"
#include "core/rounding.hpp"
#include "memory/numa_node.hpp"

namespace terrace::agent {

// Returns whether the kernel reports enough free memory, to avoid attempts that must fail.
bool OrderedHeap::has_free_capacity(std::uint64_t size, const Order& order) noexcept {
  auto* const here = ensure_state();
  std::uint64_t free = 0;
  for (const auto place : order.places) free += here->system.free_bytes(place);
  return size <= free;
}

// Returns whether all pages of the range are in the ordering's places, as the kernel reports.
bool OrderedHeap::is_within(std::uint64_t address, std::uint64_t size, const Order& order) noexcept {
  std::array<PlaceId, 512> where;
  const auto node = [&](PlaceId of) { return of == k_no_place ? -1 : parts_.machine->place(of).numa_node; };
  for (std::uint64_t at = 0; at < size; at += where.size() * k_page) {
    const auto some = std::span(where).first(std::min<std::uint64_t>(where.size(), (size - at) / k_page));
    if (ensure_state()->system.query_places(address + at, some) != 0) return false;
    const auto is_one = [&](PlaceId place) {
      return std::ranges::find(order.places, node(place), node) != order.places.end();
    };
    if (!std::ranges::all_of(some, is_one)) return false;
  }
  return true;
}

// Interleaves the range over the places. The ledger and the index get one contiguous part of each place's share,
// whichever pages are there; where() therefore queries the kernel.
int OrderedHeap::interleave(const Order& order, std::uint64_t address, std::uint64_t size, int intent) noexcept {
  auto& here = *ensure_state();
  const auto places = order.places.size();
  const auto share = [&](std::size_t i) { return (size / k_page + places - 1 - i) / places * k_page; };
  for (std::size_t i = 0; i < places; ++i)
    if (const auto place = order.places[i];
        here.system.free_bytes(place) <
        share(i) + here.system.kernel_reserve(place) + parts_.ledger->outstanding(place).value)
      return ENOMEM;
  try {
    std::vector<int> nodes;
    for (const auto place : order.places) nodes.push_back(parts_.machine->place(place).numa_node);
    if (const int error = memory::interleave_nodes(address, size, nodes); error != 0) return error;
    auto at = address;
    for (std::size_t i = 0; i < places; ++i) {
      if (share(i) == 0) continue;
      if (!parts_.ledger->take(order.places[i], {share(i)})) return ENOMEM;
      const std::lock_guard guard(mutex_);
      const memory::PlacedRanges::Range range{at, share(i), order.places[i], share(i),
                                              static_cast<std::uint32_t>(intent)};
      placed_.add(range);
      count(range, true);
      at += share(i);
    }
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
  return here.system.populate(address, size);
}

// Populates the range eagerly by the ordering's rule. Returns false, and discards its pages, if the rule cannot be
// kept. `num_full` receives how many leading places of the ordering were full.
bool OrderedHeap::fill_by_rule(const Order& order, std::uint64_t address, std::uint64_t size, int intent,
                               std::size_t* num_full, int* error) noexcept {
  int problem = 0;
  if (order.rule == Rule::interleave && order.places.size() > 1) {
    problem = interleave(order, address, size, intent);
  } else {
    const auto outcome = fill(address, size, intent, memory::OrderedFill::Content::none);
    problem = outcome.error;
    if (num_full) *num_full = outcome.num_exhausted;
  }
  if (error) *error = problem;
  if (order.rule == Rule::spill || (problem == 0 && is_within(address, size, order))) return true;
  forget(address, size);
  ensure_state()->system.reset_policy(address, size);
  return false;
}

// Places an extent of small blocks (SmallBlocks), which the caller owns.
bool OrderedHeap::place(std::uint64_t address, std::uint64_t size, int intent) noexcept {
  if (!ensure_state()) return false;
  const auto& order = order_of(intent);
  if (order.rule != Rule::spill && !has_free_capacity(size, order)) return false;
  return fill_by_rule(order, address, size, intent, nullptr, nullptr);
}

}  // namespace terrace::agent
