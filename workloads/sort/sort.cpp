// Merge sort of 64-bit keys between two arrays: runs that fit a cache are sorted, then merged two by two until one
// is left. Source: Knuth, "The Art of Computer Programming" 3, section 5.2.4. Each piece of a merged run is found
// by bisection, so that threads merge pieces and not runs: Deo and Sarkar, "Parallel algorithms for merging and
// sorting", Information Sciences 56, 1991.
//
// An iteration fills the array with new random keys, sorts it (runs, merge.1, merge.2, ...), and checks it: in
// order, and with the sum and the hash that the keys had.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/options.hpp"
#include "common/random.hpp"
#include "common/threads.hpp"
#include "common/verdict.hpp"

namespace sort {

using Keys = std::vector<std::uint64_t>;

constexpr std::uint64_t k_run = 8192;  // keys in a run at first, and in a piece of a merge

struct Settings {
  std::uint64_t keys = 1 << 20;
  std::uint64_t iterations = 2;
  std::uint64_t seed = 1;
  std::uint64_t threads = 1;
};

/// What does not depend on the keys' order.
struct Multiset {
  std::uint64_t sum = 0;
  std::uint64_t hash = 0;  // exclusive or of the mixed keys

  bool operator==(const Multiset&) const = default;
};

// The kernels are never inlined, so that each keeps its name at run time.

[[gnu::noinline]] Multiset fill(Keys& keys, std::uint64_t seed) {
  const std::uint64_t count = keys.size();
  std::uint64_t sum = 0;
  std::uint64_t hash = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum) reduction(^ : hash)
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t key = workloads::random_at(seed, i);
    keys[i] = key;
    sum += key;
    hash ^= workloads::mix(key);
  }
  return {sum, hash};
}

[[gnu::noinline]] void sort_runs(Keys& keys) {
  const std::uint64_t count = keys.size();
#pragma omp parallel for schedule(dynamic)
  for (std::uint64_t begin = 0; begin < count; begin += k_run) {
    std::sort(keys.data() + begin, keys.data() + std::min(begin + k_run, count));
  }
}

/// A sorted range of keys.
struct Range {
  const std::uint64_t* begin;
  const std::uint64_t* end;

  std::uint64_t size() const { return static_cast<std::uint64_t>(end - begin); }
};

/// How many of the first `rank` keys of the merged ranges come from `a`; where keys are equal a's come first.
std::uint64_t share_of(Range a, Range b, std::uint64_t rank) {
  std::uint64_t low = rank > b.size() ? rank - b.size() : 0;
  std::uint64_t high = std::min(rank, a.size());
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    // a[middle] belongs to the first `rank` unless as many of b's come before it.
    if (a.begin[middle] <= b.begin[rank - middle - 1]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void merge(Range a, Range b, std::uint64_t* out) {
  while (a.begin != a.end && b.begin != b.end) *out++ = *b.begin < *a.begin ? *b.begin++ : *a.begin++;
  while (a.begin != a.end) *out++ = *a.begin++;
  while (b.begin != b.end) *out++ = *b.begin++;
}

/// Merges each two neighbouring runs of `run` keys, which is a multiple of k_run; the last ones may be shorter.
[[gnu::noinline]] void merge_runs(const Keys& from, Keys& to, std::uint64_t run) {
  const std::uint64_t count = from.size();
#pragma omp parallel for schedule(static)
  for (std::uint64_t piece = 0; piece < count; piece += k_run) {
    const std::uint64_t pair = piece / (2 * run) * (2 * run);
    const std::uint64_t middle = std::min(pair + run, count);
    const std::uint64_t end = std::min(pair + 2 * run, count);
    const Range a{from.data() + pair, from.data() + middle};
    const Range b{from.data() + middle, from.data() + end};
    const std::uint64_t first = piece - pair;
    const std::uint64_t last = std::min(piece + k_run, end) - pair;
    const std::uint64_t first_a = share_of(a, b, first);
    const std::uint64_t last_a = share_of(a, b, last);
    merge({a.begin + first_a, a.begin + last_a}, {b.begin + (first - first_a), b.begin + (last - last_a)},
          to.data() + piece);
  }
}

/// Whether `keys` are in order and are those of `expected`.
[[gnu::noinline]] bool check(const Keys& keys, const Multiset& expected) {
  const std::uint64_t count = keys.size();
  std::uint64_t sum = 0;
  std::uint64_t hash = 0;
  std::uint64_t disordered = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum, disordered) reduction(^ : hash)
  for (std::uint64_t i = 0; i < count; ++i) {
    sum += keys[i];
    hash ^= workloads::mix(keys[i]);
    if (i > 0 && keys[i - 1] > keys[i]) ++disordered;
  }
  return disordered == 0 && Multiset{sum, hash} == expected;
}

int run(const Settings& settings) {
  Keys keys(settings.keys);
  Keys other(settings.keys);

  bool verified = true;
  double sorting = 0.0;
  workloads::loop_begin("main");
  for (std::uint64_t iteration = 0; iteration < settings.iterations; ++iteration) {
    workloads::phase("fill");
    const Multiset expected = fill(keys, workloads::mix(settings.seed + iteration));
    const double begin = workloads::seconds();
    workloads::phase("runs");
    sort_runs(keys);
    Keys* from = &keys;
    Keys* to = &other;
    int pass = 0;
    for (std::uint64_t length = k_run; length < settings.keys; length *= 2) {
      workloads::phase(("merge." + std::to_string(++pass)).c_str());
      merge_runs(*from, *to, length);
      std::swap(from, to);
    }
    sorting += workloads::seconds() - begin;
    workloads::phase("check");
    verified = check(*from, expected) && verified;
  }
  workloads::loop_end();

  std::printf("Sort: 2 arrays of %llu keys, %llu iterations\n", static_cast<unsigned long long>(settings.keys),
              static_cast<unsigned long long>(settings.iterations));
  std::printf("Time %14.9f s %14.0f keys a second\n", sorting,
              static_cast<double>(settings.keys) * static_cast<double>(settings.iterations) / sorting);
  return workloads::verdict(verified);
}

}  // namespace sort

int main(int argc, char** argv) {
  sort::Settings settings;
  workloads::Options options("sort", "merge sort of 64-bit keys");
  options.count("--keys", &settings.keys, "how many, up to 2^40 (1048576)");
  options.count("--iterations", &settings.iterations, "arrays sorted (2)");
  options.count("--seed", &settings.seed, "of the keys (1)");
  workloads::declare_threads(options, &settings.threads);
  options.parse(argc, argv);
  workloads::use_threads(options, settings.threads);
  if (settings.keys > std::uint64_t{1} << 40) options.fail("--keys: at most 2^40");
  return sort::run(settings);
}
