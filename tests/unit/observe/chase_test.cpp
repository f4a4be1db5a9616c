// Compares dependence and exposure with closed forms: chases wait for every miss, K interleaved ones for one in K;
// gathers, random updates and sweeps for none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "recording.hpp"

namespace terrace::observe::test {
namespace {

constexpr std::size_t k_node_bytes = 64;
constexpr std::size_t k_nodes = 1 << 15;  // 2 MiB: 32 times the shared cache

std::vector<std::uint32_t> shuffled(std::size_t n, std::uint64_t seed) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  return order;
}

// A cycle through nodes `order`, each holding the address of the next at `offset`.
void link(char* base, const std::vector<std::uint32_t>& order, std::size_t offset = 0) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    char* node = base + order[i] * k_node_bytes;
    char* next = base + order[(i + 1) % order.size()] * k_node_bytes;
    std::memcpy(node + offset, &next, sizeof next);
  }
}

TEST(ChaseDependence, PointerChase_EveryMissIsDependent) {
  Bench bench(k_nodes * k_node_bytes);
  const auto order = shuffled(k_nodes, 1);
  link(bench.as<char>(), order);
  auto* p = bench.as<char>() + order[0] * k_node_bytes;
  for (std::size_t i = 0; i < k_nodes; ++i) p = bench.load(reinterpret_cast<char**>(p));
  bench.pipeline->flush();
  EXPECT_EQ(bench.sink.fetched(), k_nodes);
  EXPECT_GE(bench.sink.share(MissKind::dependent), 0.99);
  EXPECT_NEAR(bench.sink.exposed() / static_cast<double>(k_nodes), 1.0, 0.01);
}

TEST(ChaseDependence, NodeFields_PointerStaysDependent) {
  Bench bench(k_nodes * k_node_bytes);
  const auto order = shuffled(k_nodes, 2);
  link(bench.as<char>(), order, 40);
  auto* p = bench.as<char>() + order[0] * k_node_bytes;
  for (std::size_t i = 0; i < k_nodes; ++i) {
    for (std::size_t field = 0; field < 40; field += 8) bench.load(reinterpret_cast<std::uint64_t*>(p + field), 2);
    p = bench.load(reinterpret_cast<char**>(p + 40), 3);
  }
  bench.pipeline->flush();
  EXPECT_GE(bench.sink.share(MissKind::dependent), 0.99);
}

// A chain ends at a hit in the first cache; a small cache makes that rare. Lines in the second cache
// (one in 32 here) do not break it.
template <class Index>
void index_chase(std::size_t stride_bytes, std::uint64_t seed) {
  Bench bench(k_nodes * k_node_bytes, config_of(1024, 65536));
  const std::size_t n = k_nodes * k_node_bytes / stride_bytes;
  const auto order = shuffled(n, seed);
  auto* base = bench.as<char>();
  const auto at = [&](std::size_t i) { return reinterpret_cast<Index*>(base + i * stride_bytes); };
  for (std::size_t i = 0; i < n; ++i) *at(order[i]) = static_cast<Index>(order[(i + 1) % n]);
  std::size_t i = order[0];
  for (std::size_t k = 0; k < 20000; ++k) i = static_cast<std::size_t>(bench.load(at(i)));
  bench.pipeline->flush();
  EXPECT_GE(bench.sink.share(MissKind::dependent), 0.99) << stride_bytes;
  EXPECT_NEAR(bench.sink.exposed() / static_cast<double>(bench.sink.fetched()), 1.0, 0.01) << stride_bytes;
}

TEST(ChaseDependence, IndexChase_EveryScale_EveryMissIsDependent) {
  index_chase<std::uint32_t>(4, 3);
  index_chase<std::int64_t>(8, 4);
  index_chase<std::int32_t>(8, 5);
  index_chase<std::int64_t>(16, 6);
}

class Interleaved : public testing::TestWithParam<std::size_t> {};

TEST_P(Interleaved, KChases_ExposeOneLatencyInK) {
  const std::size_t k = GetParam();
  Bench bench(k_nodes * k_node_bytes);
  const auto order = shuffled(k_nodes, 7);
  const std::size_t length = k_nodes / k;
  std::vector<char*> at(k);
  for (std::size_t c = 0; c < k; ++c) {
    const std::vector<std::uint32_t> mine(order.begin() + static_cast<std::ptrdiff_t>(c * length),
                                          order.begin() + static_cast<std::ptrdiff_t>((c + 1) * length));
    link(bench.as<char>(), mine);
    at[c] = bench.as<char>() + mine[0] * k_node_bytes;
  }
  for (std::size_t i = 0; i < length; ++i) {
    for (char*& p : at) p = bench.load(reinterpret_cast<char**>(p));
  }
  bench.pipeline->flush();
  EXPECT_GE(bench.sink.share(MissKind::dependent), 0.99);
  // Beyond the miss registers (10) chains do not overlap.
  const double expected = 1.0 / static_cast<double>(std::min<std::size_t>(k, 10));
  EXPECT_NEAR(bench.sink.exposed() / static_cast<double>(bench.sink.fetched()), expected, 0.01 * expected);
}
INSTANTIATE_TEST_SUITE_P(Chase, Interleaved, testing::Values(1, 2, 3, 4, 5, 7, 8, 10, 16));

TEST(ChaseDependence, InterleavedIndexChases_ExposeOneLatencyInK) {
  constexpr std::size_t k = 4;
  Bench bench(k_nodes * k_node_bytes, config_of(1024, 65536));
  constexpr std::size_t n = k_nodes * 8 / k;
  auto* next = bench.as<std::uint64_t>();
  std::array<std::uint64_t, k> at{};
  for (std::size_t c = 0; c < k; ++c) {
    const auto order = shuffled(n, 20 + c);
    for (std::size_t i = 0; i < n; ++i) next[c * n + order[i]] = c * n + order[(i + 1) % n];
    at[c] = c * n + order[0];
  }
  for (std::size_t i = 0; i < 8000; ++i) {
    for (auto& index : at) index = bench.load(next + index);
  }
  bench.pipeline->flush();
  EXPECT_GE(bench.sink.share(MissKind::dependent), 0.99);
  EXPECT_NEAR(bench.sink.exposed() / static_cast<double>(bench.sink.fetched()), 0.25, 0.01);
}

TEST(ChaseDependence, RandomUpdates_AreIndependent) {
  // GUPS: table[a mod n] ^= a, with the table holding its own indices at first, as the benchmark has it.
  Bench bench(k_nodes * k_node_bytes);
  constexpr std::size_t n = k_nodes * k_node_bytes / 8;
  auto* table = bench.as<std::uint64_t>();
  std::iota(table, table + n, std::uint64_t{0});
  std::mt19937_64 random(8);
  for (std::size_t i = 0; i < 100000; ++i) {
    const std::uint64_t a = random();
    const std::uint64_t old = bench.load(table + a % n, 1);
    bench.store(table + a % n, old ^ a, 2);
  }
  bench.pipeline->flush();
  EXPECT_GT(bench.sink.fetched(), 90000u);
  EXPECT_LE(bench.sink.share(MissKind::dependent), 0.01);
  EXPECT_LE(bench.sink.share(MissKind::prefetched), 0.01);
}

template <class Index>
void gather() {
  constexpr std::size_t n = 1 << 17;
  Bench bench(n * 8 + n * sizeof(Index));
  auto* x = bench.as<double>();
  auto* index = reinterpret_cast<Index*>(x + n);
  const auto order = shuffled(n, 9);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = static_cast<double>(i);
    index[i] = static_cast<Index>(order[i]);
  }
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto j = static_cast<std::size_t>(bench.load(index + i, 1));
    sum += bench.load(x + j, 2);
  }
  bench.pipeline->flush();
  EXPECT_GT(sum, 0);
  EXPECT_LE(bench.sink.share(MissKind::dependent), 0.01);
  // The indices are a stream.
  EXPECT_GE(static_cast<double>(bench.sink.count(MissKind::prefetched)), 0.98 * n * sizeof(Index) / 64);
}

TEST(ChaseDependence, GatherByStreamedIndices_IsIndependent) {
  gather<std::int32_t>();
  gather<std::int64_t>();
}

TEST(ChaseDependence, RowSweeps_AreIndependent) {
  // Rows with a gap between them.
  constexpr std::size_t rows = 512, columns = 960, pitch = 1024;
  Bench bench(rows * pitch * 8);
  auto* a = bench.as<double>();
  std::iota(a, a + rows * pitch, 1.0);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) bench.load(a + i * pitch + j, 1);
  }
  bench.pipeline->flush();
  EXPECT_LE(bench.sink.share(MissKind::dependent), 0.01);
  EXPECT_GE(bench.sink.share(MissKind::prefetched), 0.95);
}

TEST(ChaseDependence, RowPointerSweeps_AreIndependent) {
  constexpr std::size_t rows = 512, columns = 4096;
  Bench bench(rows * columns * 8 + rows * 8);
  auto* data = bench.as<std::uint64_t>();
  auto** row = reinterpret_cast<std::uint64_t**>(data + rows * columns);
  for (std::size_t i = 0; i < rows; ++i) row[i] = data + i * columns;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint64_t* r = bench.load(row + i, 1);
    for (std::size_t j = 0; j < columns; ++j) bench.load(r + j, 2);
  }
  bench.pipeline->flush();
  EXPECT_LE(bench.sink.share(MissKind::dependent), 0.01);
}

TEST(ChaseDependence, ScatteredStoresOfChase_AreDependent) {
  // The store fetches the line first; the chain continues through it.
  Bench bench(k_nodes * k_node_bytes);
  const auto order = shuffled(k_nodes, 10);
  link(bench.as<char>(), order);
  auto* p = bench.as<char>() + order[0] * k_node_bytes;
  for (std::size_t i = 0; i < k_nodes; ++i) {
    bench.store(reinterpret_cast<std::uint64_t*>(p + 8), std::uint64_t{i}, 1);
    p = bench.load(reinterpret_cast<char**>(p), 2);
  }
  bench.pipeline->flush();
  EXPECT_GE(bench.sink.share(MissKind::dependent), 0.99);
}

TEST(ChaseDependence, TreeLookUps_ExposeDepthPerWindow) {
  // Independent chains of 4 dependent misses behind a head, 10 miss registers: 40 misses are 10 chains and expose
  // as many latencies as fit into the registers one after another, between 4 (all overlap) and 16 (pairs do).
  constexpr std::size_t depth = 5, chains = k_nodes / depth;
  Bench bench(k_nodes * k_node_bytes);
  const auto order = shuffled(k_nodes, 11);
  for (std::size_t c = 0; c < chains; ++c) {
    char* p = bench.as<char>() + order[c * depth] * k_node_bytes;
    for (std::size_t d = 0; d < depth; ++d) {
      char* next = d + 1 < depth ? bench.as<char>() + order[c * depth + d + 1] * k_node_bytes : nullptr;
      std::memcpy(p, &next, sizeof next);
      p = next;
    }
  }
  for (std::size_t c = 0; c < chains; ++c) {
    char* p = bench.as<char>() + order[c * depth] * k_node_bytes;
    for (std::size_t d = 0; d < depth; ++d) p = bench.load(reinterpret_cast<char**>(p));
  }
  bench.pipeline->flush();
  EXPECT_NEAR(bench.sink.share(MissKind::dependent), 0.8, 0.01);
  const double per_chain = bench.sink.exposed() / chains;
  EXPECT_GT(per_chain, 0.4 * 0.99);
  EXPECT_LT(per_chain, 1.6 * 1.01);
}

// Stores to lines in random order; between two of them `stores` to one line that stays in the first cache, and
// as many loads of it: latencies exposed by each that misses, the tenth that it is charged anyway included.
double exposed_by_stores(std::size_t stores, std::size_t loads) {
  Bench bench((k_nodes + 1) * k_node_bytes);
  auto* const near = bench.as<std::uint64_t>() + k_nodes * k_node_bytes / 8;
  for (const auto node : shuffled(k_nodes, 12)) {
    bench.store(bench.as<std::uint64_t>() + node * k_node_bytes / 8, std::uint64_t{1});
    for (std::size_t i = 0; i < stores; ++i) bench.store(near, std::uint64_t{i}, 2);
    for (std::size_t i = 0; i < loads; ++i) bench.load(near, 3);
  }
  bench.pipeline->flush();
  return bench.sink.exposed() / static_cast<double>(k_nodes) + 0.1;
}

// A buffer of 56 stores, a window of 64 accesses, 10 miss registers.
TEST(Stores, MissingStores_OverlapWithinStoreBuffer) {
  EXPECT_NEAR(exposed_by_stores(0, 0), 0.1, 0.01);
  EXPECT_NEAR(exposed_by_stores(0, 200), 0.1, 0.01);
  EXPECT_NEAR(exposed_by_stores(27, 27), 0.5, 0.01);
  EXPECT_NEAR(exposed_by_stores(55, 0), 1, 0.01);
  EXPECT_NEAR(exposed_by_stores(100, 10), 1, 0.01);
}

// The last pass of a counting sort: the next line of every bucket is prefetched where as many streams are
// followed.
TEST(Stores, BucketStores_PrefetchedUpToNumStreams) {
  constexpr std::size_t k_buckets = 200, k_lines = 161;  // odd: in different sets
  const auto prefetched = [](std::uint32_t streams) {
    auto config = small_config();
    config.streams = streams;
    Bench bench(k_buckets * k_lines * k_node_bytes, config);
    std::vector<std::uint64_t*> at(k_buckets);
    for (std::size_t b = 0; b < k_buckets; ++b) at[b] = bench.as<std::uint64_t>() + b * k_lines * k_node_bytes / 8;
    std::mt19937_64 random(5);
    for (std::size_t i = 0; i < k_buckets * k_lines * 5; ++i)
      bench.store(at[random() % k_buckets]++, std::uint64_t{1});
    bench.pipeline->flush();
    return bench.sink.share(MissKind::prefetched);
  };
  EXPECT_GE(prefetched(256), 0.95);
  EXPECT_LE(prefetched(16), 0.1);
}

}  // namespace
}  // namespace terrace::observe::test
