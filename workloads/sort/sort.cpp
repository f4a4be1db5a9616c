// Merge sort of 64-bit keys between two arrays (merge_sort.hpp).
//
// An iteration fills the array with new random keys, sorts it (runs, merge.1, merge.2, ...), and checks it: in
// order, and with the sum and the hash that the keys had.
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/merge_sort.hpp"
#include "common/options.hpp"
#include "common/random.hpp"
#include "common/threads.hpp"
#include "common/verdict.hpp"

namespace sort {

using Keys = std::vector<std::uint64_t>;

struct Settings {
  std::uint64_t keys = 1 << 20;
  std::uint64_t iterations = 2;
  std::uint64_t seed = 1;
  std::uint64_t threads = 1;
};

/// Checksums that do not depend on the keys' order.
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
    workloads::sort_runs(keys);
    Keys* from = &keys;
    Keys* to = &other;
    int pass = 0;
    for (std::uint64_t length = workloads::k_run; length < settings.keys; length *= 2) {
      workloads::phase(("merge." + std::to_string(++pass)).c_str());
      workloads::merge_runs(*from, *to, length);
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
  options.count("--keys", &settings.keys, "number of keys, up to 2^40");
  options.count("--iterations", &settings.iterations, "number of arrays to sort");
  options.count("--seed", &settings.seed, "seed of the keys");
  workloads::declare_threads(options, &settings.threads);
  options.parse(argc, argv);
  workloads::use_threads(options, settings.threads);
  if (settings.keys > std::uint64_t{1} << 40) options.fail("--keys: at most 2^40");
  return sort::run(settings);
}
