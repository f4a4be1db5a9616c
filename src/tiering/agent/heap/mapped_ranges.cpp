// SPDX-License-Identifier: Apache-2.0
// Tracks what the program has mapped in spilled memory, for SpilledHeap: disjoint ranges in a map, which merges
// equal neighbours. See mapped_ranges.hpp.
#include "agent/heap/mapped_ranges.hpp"

#include <algorithm>

namespace terrace::agent {

// Returns the first range that ends after `start`.
MappedRanges::Map::const_iterator MappedRanges::first_ending_after(std::uint64_t start) const noexcept {
  auto range = ranges_.upper_bound(start);
  if (range == ranges_.begin()) return range;
  const auto before = std::prev(range);
  return before->second.end > start ? before : range;
}

// Splits the range that contains the address, so that a range boundary is there.
void MappedRanges::split(std::uint64_t at) {
  const auto found = first_ending_after(at);
  if (found == ranges_.end() || found->first >= at) return;
  auto rest = found->second;
  rest.start = at;
  ranges_.emplace(at, rest);
  ranges_[found->first].end = at;
}

void MappedRanges::remove(std::uint64_t start, std::uint64_t end) {
  split(start);
  split(end);
  ranges_.erase(ranges_.lower_bound(start), ranges_.lower_bound(end));
}

void MappedRanges::set(const Range& range) {
  remove(range.start, range.end);
  if (range.start >= range.end) return;
  ranges_.emplace(range.start, range);
  join(range.start, range.end);
}

void MappedRanges::protect(std::uint64_t start, std::uint64_t end, int protection) {
  split(start);
  split(end);
  for (auto range = ranges_.lower_bound(start); range != ranges_.end() && range->first < end; ++range)
    range->second.protection = protection;
  join(start, end);
}

// Merges equal adjacent ranges, from the one before `start` to the one at `end`.
void MappedRanges::join(std::uint64_t start, std::uint64_t end) noexcept {
  auto range = ranges_.lower_bound(start);
  if (range != ranges_.begin()) --range;
  while (range != ranges_.end()) {
    const auto next = std::next(range);
    if (next == ranges_.end() || next->first > end) return;
    auto& one = range->second;
    const auto& other = next->second;
    if (one.end == other.start && one.kind == other.kind && one.protection == other.protection) {
      one.end = other.end;
      ranges_.erase(next);
    } else {
      range = next;
    }
  }
}

bool MappedRanges::overlaps(std::uint64_t start, std::uint64_t end) const noexcept {
  const auto found = first_ending_after(start);
  return start < end && found != ranges_.end() && found->first < end;
}

std::optional<MappedRanges::Kind> MappedRanges::kind_at(std::uint64_t address) const noexcept {
  const auto found = first_ending_after(address);
  if (found == ranges_.end() || found->first > address) return std::nullopt;
  return found->second.kind;
}

std::vector<MappedRanges::Range> MappedRanges::within(std::uint64_t start, std::uint64_t end) const {
  std::vector<Range> all;
  if (start >= end) return all;
  for (auto range = first_ending_after(start); range != ranges_.end() && range->first < end; ++range) {
    all.push_back(range->second);
    all.back().start = std::max(all.back().start, start);
    all.back().end = std::min(all.back().end, end);
  }
  return all;
}

bool MappedRanges::is_covered(const std::vector<Range>& parts, std::uint64_t start, std::uint64_t end) noexcept {
  for (const auto& part : parts) {
    if (part.start != start) return false;
    start = part.end;
  }
  return start == end;
}

}  // namespace terrace::agent
