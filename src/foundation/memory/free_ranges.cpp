// SPDX-License-Identifier: Apache-2.0
// Implements the allocator of address ranges as a treap, for RegionSpace and for the extents of arenas. See
// free_ranges.hpp.
#include "memory/free_ranges.hpp"

#include <algorithm>

#include "core/rounding.hpp"

namespace terrace::memory {

namespace {

// Heap priority of a node: a hash of its start, so that the tree's shape, too, is the same in every run. (The
// finaliser of MurmurHash3, a bijection that leaves no pattern of the granule's multiples.)
std::uint64_t priority(std::uint64_t start) {
  auto x = start + 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 33);
}

// Returns the lowest start >= `start` for which `base` + start is aligned.
std::uint64_t aligned(std::uint64_t start, std::uint64_t alignment, std::uint64_t base) {
  return align_up(base + start, alignment) - base;
}

bool fits(const FreeRanges::Range& range, std::uint64_t length, std::uint64_t alignment, std::uint64_t base) {
  const auto skipped = aligned(range.start, alignment, base) - range.start;
  return skipped <= range.length && range.length - skipped >= length;
}

}  // namespace

// Recomputes the longest range of a subtree from its children.
void FreeRanges::update(Index node) {
  auto& n = nodes_[node];
  n.longest = n.range.length;
  if (n.left != k_none) n.longest = std::max(n.longest, nodes_[n.left].longest);
  if (n.right != k_none) n.longest = std::max(n.longest, nodes_[n.right].longest);
}

// Merges two subtrees, of which all ranges of `left` precede those of `right`.
FreeRanges::Index FreeRanges::merge(Index left, Index right) {
  if (left == k_none) return right;
  if (right == k_none) return left;
  if (priority(nodes_[left].range.start) > priority(nodes_[right].range.start)) {
    nodes_[left].right = merge(nodes_[left].right, right);
    update(left);
    return left;
  }
  nodes_[right].left = merge(left, nodes_[right].left);
  update(right);
  return right;
}

// Splits a subtree: ranges that begin before `start` go to `left`, the others to `right`.
void FreeRanges::split(Index node, std::uint64_t start, Index& left, Index& right) {
  if (node == k_none) {
    left = right = k_none;
  } else if (nodes_[node].range.start < start) {
    Index rest = k_none;
    split(nodes_[node].right, start, rest, right);
    nodes_[node].right = rest;
    update(left = node);
  } else {
    Index rest = k_none;
    split(nodes_[node].left, start, left, rest);
    nodes_[node].left = rest;
    update(right = node);
  }
}

// Inserts a free range as a node of the treap; reuses an unused node.
void FreeRanges::insert(Range range) {
  Index node = unused_;
  if (node == k_none) {
    node = static_cast<Index>(nodes_.size());
    nodes_.emplace_back();
  } else {
    unused_ = nodes_[node].left;
  }
  nodes_[node] = {range, range.length, k_none, k_none};
  Index left = k_none;
  Index right = k_none;
  split(root_, range.start, left, right);
  root_ = merge(merge(left, node), right);
  ++num_ranges_;
}

// Removes the node of the free range that begins at `start`.
void FreeRanges::erase(std::uint64_t start) {
  Index left = k_none;
  Index middle = k_none;
  Index right = k_none;
  split(root_, start, left, middle);
  split(middle, start + 1, middle, right);
  root_ = merge(left, right);
  if (middle == k_none) return;
  nodes_[middle].left = unused_;
  unused_ = middle;
  --num_ranges_;
}

// Returns the first range, by address, of the subtree that fits.
FreeRanges::Index FreeRanges::find_fit(Index node, std::uint64_t length, std::uint64_t alignment,
                                       std::uint64_t base) const {
  if (node == k_none || nodes_[node].longest < length) return k_none;
  if (const auto found = find_fit(nodes_[node].left, length, alignment, base); found != k_none) return found;
  if (fits(nodes_[node].range, length, alignment, base)) return node;
  return find_fit(nodes_[node].right, length, alignment, base);
}

// Returns the last free range that begins at `start` or before it.
FreeRanges::Index FreeRanges::find_at_or_before(std::uint64_t start) const {
  Index best = k_none;
  for (Index node = root_; node != k_none;) {
    if (nodes_[node].range.start <= start) {
      best = node;
      node = nodes_[node].right;
    } else {
      node = nodes_[node].left;
    }
  }
  return best;
}

FreeRanges::Index FreeRanges::find_start(std::uint64_t start) const {
  const auto node = find_at_or_before(start);
  return node != k_none && nodes_[node].range.start == start ? node : k_none;
}

// Removes [start, start + length) from the free range that contains it.
void FreeRanges::carve(Range range, std::uint64_t start, std::uint64_t length) {
  erase(range.start);
  if (start > range.start) insert({range.start, start - range.start});
  const auto end = range.start + range.length;
  if (start + length < end) insert({start + length, end - start - length});
}

std::optional<std::uint64_t> FreeRanges::allocate(std::uint64_t length, std::uint64_t alignment,
                                                  std::uint64_t base) {
  const auto node = find_fit(root_, length, alignment, base);
  if (node == k_none) return std::nullopt;
  const auto range = nodes_[node].range;
  const auto start = aligned(range.start, alignment, base);
  carve(range, start, length);
  return start;
}

bool FreeRanges::allocate_at(std::uint64_t start, std::uint64_t length) {
  const auto node = find_at_or_before(start);
  if (node == k_none) return false;
  const auto range = nodes_[node].range;
  if (range.start + range.length < start + length) return false;
  carve(range, start, length);
  return true;
}

void FreeRanges::release(std::uint64_t start, std::uint64_t length) {
  if (const auto after = find_start(start + length); after != k_none) {
    const auto next = nodes_[after].range;
    erase(next.start);
    length += next.length;
  }
  if (const auto before = find_at_or_before(start); before != k_none) {
    const auto range = nodes_[before].range;
    if (range.start + range.length == start) {
      erase(range.start);
      start = range.start;
      length += range.length;
    }
  }
  insert({start, length});
}

}  // namespace terrace::memory
