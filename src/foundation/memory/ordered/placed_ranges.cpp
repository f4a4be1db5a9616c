// SPDX-License-Identifier: Apache-2.0
// Keeps the record of the ranges that the agent's heap placed by intent (memory attributes): adds, splits, merges
// and finds ranges. See placed_ranges.hpp.
#include "memory/ordered/placed_ranges.hpp"

#include <algorithm>
#include <iterator>

namespace terrace::memory {

namespace {

// Returns whether two ranges can be merged. The bytes acquired in the ledger are known by range only: all or none,
// unless the range had pages before it was placed. Only ranges with all or none are merged.
bool can_join(const PlacedRanges::Range& one, const PlacedRanges::Range& next) {
  const auto whole = [](const PlacedRanges::Range& range) { return range.held == 0 || range.held == range.size; };
  return one.address + one.size == next.address && one.place == next.place && one.intent == next.intent &&
         whole(one) && whole(next) && (one.held == 0) == (next.held == 0);
}

}  // namespace

// Splits the range that contains the address, so that one begins there. The first part gets as many of the
// acquired bytes as fit.
void PlacedRanges::split_at(std::uint64_t address) {
  const auto range = find(address);
  if (range.size == 0 || range.address == address) return;
  auto first = range;
  auto second = range;
  first.size = address - range.address;
  first.held = std::min(range.held, first.size);
  second.address = address;
  second.size = range.size - first.size;
  second.held = range.held - first.held;
  ranges_.emplace(address, second);
  ranges_.at(range.address) = first;
}

std::vector<PlacedRanges::Range> PlacedRanges::remove(std::uint64_t address, std::uint64_t size) {
  split_at(address);
  split_at(address + size);
  const auto first = ranges_.lower_bound(address);
  const auto last = ranges_.lower_bound(address + size);
  std::vector<Range> removed;
  for (auto at = first; at != last; ++at) removed.push_back(at->second);
  ranges_.erase(first, last);
  return removed;
}

void PlacedRanges::add(const Range& range) {
  auto at = ranges_.emplace(range.address, range).first;
  if (const auto next = std::next(at); next != ranges_.end() && can_join(at->second, next->second)) {
    at->second.size += next->second.size;
    at->second.held += next->second.held;
    ranges_.erase(next);
  }
  if (at == ranges_.begin()) return;
  const auto before = std::prev(at);
  if (!can_join(before->second, at->second)) return;
  before->second.size += at->second.size;
  before->second.held += at->second.held;
  ranges_.erase(at);
}

std::vector<PlacedRanges::Range> PlacedRanges::find_overlapping(std::uint64_t address, std::uint64_t size) const {
  std::vector<Range> ranges;
  if (const auto first = find(address); first.size > 0) ranges.push_back(first);
  for (auto at = ranges_.upper_bound(address); at != ranges_.end() && at->first < address + size; ++at)
    ranges.push_back(at->second);
  return ranges;
}

PlacedRanges::Range PlacedRanges::find(std::uint64_t address) const noexcept {
  auto at = ranges_.upper_bound(address);
  if (at == ranges_.begin()) return {};
  --at;
  return address - at->second.address < at->second.size ? at->second : Range{};
}

PlacedRanges::Gap PlacedRanges::find_gap(std::uint64_t address, std::uint64_t begin,
                                         std::uint64_t end) const noexcept {
  const auto next = ranges_.upper_bound(address);
  if (next != ranges_.end()) end = std::min(end, next->first);
  if (next != ranges_.begin()) {
    const auto& before = std::prev(next)->second;
    begin = std::max(begin, before.address + before.size);
  }
  return begin > address ? Gap{} : Gap{begin, end - begin};
}

}  // namespace terrace::memory
