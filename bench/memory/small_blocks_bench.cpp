// Compares small blocks by intent with the C library's, for `make bench`: the same sequence of calls, by
// ratio.
//
//   TERRACE=build/release/src/cli/terrace; $TERRACE run -q -o /tmp/profile.terrace --
//   build/release/bench/bin/small_blocks_bench
//
// Without `terrace run` both are the C library's, and the ratio is the cost of the allocation interposer alone.
// Google Benchmark's counters: `ratio` is the time of terrace_aligned_alloc and terrace_free over that of malloc
// and free.
#include <benchmark/benchmark.h>
#include <terrace/terrace.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

namespace {

double now() {
  timespec at{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
}

constexpr std::size_t k_live = 4096;
constexpr std::size_t k_steps = 1 << 16;

// Replaces one of the live blocks after another, in an order of no pattern; sizes from `least` to `least * 4`.
template <class Allocate, class Free>
double time_of(std::size_t least, Allocate allocate, Free release) {
  std::mt19937 random(7);
  std::vector<std::pair<std::size_t, std::size_t>> steps(k_steps);
  for (auto& [slot, size] : steps) slot = random() % k_live, size = least + random() % (3 * least);
  std::vector<void*> live(k_live);
  double least_time = 1e9;
  for (int round = 0; round < 5; ++round) {
    const double begin = now();
    for (const auto& [slot, size] : steps) {
      release(live[slot]);
      live[slot] = allocate(size);
      *static_cast<char*>(live[slot]) = 1;
    }
    least_time = std::min(least_time, now() - begin);
  }
  for (void* block : live) release(block);
  return least_time / k_steps;
}

void small_blocks(benchmark::State& state) {
  const auto least = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    const double plain = time_of(least, std::malloc, std::free);
    const double placed = time_of(
        least, [](std::size_t size) { return terrace_aligned_alloc(size, 16, "bandwidth"); }, terrace_free);
    state.counters["malloc_ns"] = plain * 1e9;
    state.counters["by_intent_ns"] = placed * 1e9;
    state.counters["ratio"] = placed / plain;
  }
}
BENCHMARK(small_blocks)->RangeMultiplier(8)->Range(16, 65536)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
