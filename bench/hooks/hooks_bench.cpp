// Measures an access from the compiler's hook to the sink, for `make bench`: items a second are accesses a second.
// The kernels are instrumented; the caches are those of a common server core (32 KiB, 1 MiB) over a last level
// that is smaller than the data (20-way, 636 KiB: a scaled one) or larger (32 MiB).
//
//   hooks_bench --benchmark_out=hooks.json --benchmark_out_format=json
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "kernels.hpp"
#include "observe/objects/address_map.hpp"
#include "observe/pipeline/pipeline.hpp"
#include "observe/pipeline/shadow_stack.hpp"
#include "observe/threads/thread.hpp"

namespace {

using namespace terrace;

constexpr std::size_t k_doubles = 1 << 20;  // 8 MiB an array

class CountingSink final : public observe::AccessSink {
 public:
  void quantum(const observe::Quantum& quantum) override {
    accesses += quantum.accesses;
    misses += quantum.misses.size();
  }
  std::uint64_t accesses = 0;
  std::uint64_t misses = 0;
};

enum Caches { scaled, small_last_level, large_last_level };

observe::PipelineConfig make_config(Caches caches) {
  observe::PipelineConfig config;
  if (caches != scaled) {
    config.caches.push_back({"l1", Bytes{32768}, 8, false, Seconds{0}});
    config.caches.push_back({"l2", Bytes{1 << 20}, 16, false, Seconds{0}});
  }
  const std::uint64_t last = caches == large_last_level ? std::uint64_t{32} << 20 : std::uint64_t{636} << 10;
  config.caches.push_back({"llc", Bytes{last}, 20, true, Seconds{0}});
  return config;
}

// Traces this thread's accesses while it lives; its memory is chunks of 64 KiB.
class TracedThread {
 public:
  explicit TracedThread(Caches caches)
      : shared_(observe::make_shared_cache(make_config(caches))),
        pipeline_(make_config(caches), *shared_, map_, sink_, 0, [this](std::uint64_t address) {
          map_.add_range(address & ~std::uint64_t{4095}, 4096);
          return true;
        }) {
    observe::register_thread();
    observe::t_thread.set_pipeline(&pipeline_);
  }
  ~TracedThread() {
    observe::t_thread.set_pipeline(nullptr);
    observe::unregister_thread();
  }
  TracedThread(const TracedThread&) = delete;
  TracedThread& operator=(const TracedThread&) = delete;

  void add(const void* memory, std::size_t bytes) {
    constexpr std::size_t k_chunk = 65536;
    const auto low = reinterpret_cast<std::uint64_t>(memory);
    map_.add_range(low, bytes);
    for (std::size_t at = 0; at < bytes; at += k_chunk) {
      map_.set_chunk(low + at, std::min(k_chunk, bytes - at), chunks_++);
    }
  }
  // Reports the accesses that the hooks counted as items, and the misses per access.
  void report(benchmark::State& state) {
    pipeline_.flush();
    state.SetItemsProcessed(static_cast<std::int64_t>(sink_.accesses));
    state.counters["misses/access"] = static_cast<double>(sink_.misses) / static_cast<double>(sink_.accesses);
  }

 private:
  observe::AddressMap map_;
  CountingSink sink_;
  std::unique_ptr<observe::SharedCache, void (*)(observe::SharedCache*)> shared_;
  observe::Pipeline pipeline_;
  ChunkId chunks_ = 0;
};

template <class T>
std::vector<T> filled(std::size_t n, T value) {
  return std::vector<T>(n, value);
}

void triad(benchmark::State& state) {
  auto a = filled(k_doubles, 0.0), b = filled(k_doubles, 1.0), c = filled(k_doubles, 2.0);
  TracedThread followed(static_cast<Caches>(state.range(0)));
  for (const auto* array : {&a, &b, &c}) followed.add(array->data(), array->size() * sizeof(double));
  for (auto _ : state) bench::triad(a.data(), b.data(), c.data(), k_doubles);
  followed.report(state);
}

void sum(benchmark::State& state) {
  auto a = filled(k_doubles, 1.0);
  TracedThread followed(static_cast<Caches>(state.range(0)));
  followed.add(a.data(), a.size() * sizeof(double));
  for (auto _ : state) benchmark::DoNotOptimize(bench::sum(a.data(), k_doubles));
  followed.report(state);
}

void in_first_cache(benchmark::State& state) {
  auto a = filled(std::size_t{2048}, 1.0);
  TracedThread followed(static_cast<Caches>(state.range(0)));
  followed.add(a.data(), a.size() * sizeof(double));
  for (auto _ : state) benchmark::DoNotOptimize(bench::sum(a.data(), a.size()));
  followed.report(state);
}

void gather(benchmark::State& state) {
  auto x = filled(k_doubles, 1.0);
  std::vector<std::uint32_t> index(k_doubles);
  std::iota(index.begin(), index.end(), 0u);
  std::shuffle(index.begin(), index.end(), std::mt19937_64(1));
  TracedThread followed(static_cast<Caches>(state.range(0)));
  followed.add(x.data(), x.size() * sizeof(double));
  followed.add(index.data(), index.size() * sizeof(std::uint32_t));
  for (auto _ : state) benchmark::DoNotOptimize(bench::gather(x.data(), index.data(), k_doubles));
  followed.report(state);
}

void update(benchmark::State& state) {
  auto table = filled(4 * k_doubles, std::uint64_t{0});
  TracedThread followed(static_cast<Caches>(state.range(0)));
  followed.add(table.data(), table.size() * sizeof(std::uint64_t));
  for (auto _ : state) bench::update(table.data(), table.size() - 1, k_doubles);
  followed.report(state);
}

void chase(benchmark::State& state) {
  std::vector<std::uint32_t> order(k_doubles / 8);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(2));
  auto nodes = filled(k_doubles, std::uint64_t{0});
  for (std::size_t i = 0; i < order.size(); ++i) {
    nodes[8 * order[i]] = reinterpret_cast<std::uint64_t>(&nodes[8 * order[(i + 1) % order.size()]]);
  }
  TracedThread followed(static_cast<Caches>(state.range(0)));
  followed.add(nodes.data(), nodes.size() * sizeof(std::uint64_t));
  for (auto _ : state) benchmark::DoNotOptimize(bench::chase(&nodes[8 * order[0]], order.size()));
  followed.report(state);
}

void hooks_off(benchmark::State& state) {
  auto a = filled(k_doubles, 1.0);
  for (auto _ : state) benchmark::DoNotOptimize(bench::sum(a.data(), k_doubles));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * k_doubles));
}

void function_calls(benchmark::State& state) {
  observe::register_thread();
  observe::t_thread.reports_entries = state.range(0) != 0;
  const observe::FunctionObserver nobody{[](void*, std::uint64_t) { return false; },
                                         [](void*, std::uint64_t, std::uint64_t) {}, nullptr};
  observe::set_function_observer(&nobody);
  for (auto _ : state) benchmark::DoNotOptimize(bench::calls(1000));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * 1000));
  observe::set_function_observer(nullptr);
  observe::t_thread.reports_entries = false;
  observe::unregister_thread();
}

#define FOR_ALL_CACHES(kernel) \
  BENCHMARK(kernel)->ArgName("caches")->Arg(scaled)->Arg(small_last_level)->Arg(large_last_level)
FOR_ALL_CACHES(triad);
FOR_ALL_CACHES(sum);
FOR_ALL_CACHES(in_first_cache);
FOR_ALL_CACHES(gather);
FOR_ALL_CACHES(update);
FOR_ALL_CACHES(chase);
BENCHMARK(hooks_off);
BENCHMARK(function_calls)->ArgName("watching")->Arg(0)->Arg(1);

}  // namespace
