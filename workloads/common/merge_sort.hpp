// Implements merge sort for `sort` and `mergejoin`: sorts runs that fit a cache, then merges them two by two.
// Source: Knuth, "The Art of Computer Programming" 3, section 5.2.4. Each piece of a merged run is found by
// bisection, so that threads merge pieces and not runs: Deo and Sarkar, "Parallel algorithms for merging and
// sorting", Information Sciences 56, 1991.
//
// Items are ordered by <.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace workloads {

constexpr std::uint64_t k_run = 8192;  // items in a run at first, and in a piece of a merge

/// A sorted range of items.
template <typename Item>
struct Range {
  const Item* begin;
  const Item* end;

  std::uint64_t size() const { return static_cast<std::uint64_t>(end - begin); }
};

/// How many of the first `rank` items of the merged ranges come from `a`; where items are equal a's come first.
template <typename Item>
std::uint64_t share_of(Range<Item> a, Range<Item> b, std::uint64_t rank) {
  std::uint64_t low = rank > b.size() ? rank - b.size() : 0;
  std::uint64_t high = std::min(rank, a.size());
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    // a[middle] belongs to the first `rank` unless as many of b's come before it.
    if (!(b.begin[rank - middle - 1] < a.begin[middle])) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

template <typename Item>
void merge(Range<Item> a, Range<Item> b, Item* out) {
  while (a.begin != a.end && b.begin != b.end) *out++ = *b.begin < *a.begin ? *b.begin++ : *a.begin++;
  while (a.begin != a.end) *out++ = *a.begin++;
  while (b.begin != b.end) *out++ = *b.begin++;
}

// The kernels are never inlined, so that each keeps its name at run time.

/// Sorts each run of k_run items.
template <typename Item>
[[gnu::noinline]] void sort_runs(std::vector<Item>& items) {
  const std::uint64_t count = items.size();
#pragma omp parallel for schedule(dynamic)
  for (std::uint64_t begin = 0; begin < count; begin += k_run) {
    std::sort(items.data() + begin, items.data() + std::min(begin + k_run, count));
  }
}

/// Merges each two neighbouring runs of `run` items, which is a multiple of k_run; the last ones may be shorter.
template <typename Item>
[[gnu::noinline]] void merge_runs(const std::vector<Item>& from, std::vector<Item>& to, std::uint64_t run) {
  const std::uint64_t count = from.size();
#pragma omp parallel for schedule(static)
  for (std::uint64_t piece = 0; piece < count; piece += k_run) {
    const std::uint64_t pair = piece / (2 * run) * (2 * run);
    const std::uint64_t middle = std::min(pair + run, count);
    const std::uint64_t end = std::min(pair + 2 * run, count);
    const Range<Item> a{from.data() + pair, from.data() + middle};
    const Range<Item> b{from.data() + middle, from.data() + end};
    const std::uint64_t first = piece - pair;
    const std::uint64_t last = std::min(piece + k_run, end) - pair;
    const std::uint64_t first_a = share_of(a, b, first);
    const std::uint64_t last_a = share_of(a, b, last);
    merge<Item>({a.begin + first_a, a.begin + last_a}, {b.begin + (first - first_a), b.begin + (last - last_a)},
                to.data() + piece);
  }
}

}  // namespace workloads
