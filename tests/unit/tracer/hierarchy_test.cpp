// Compares the tracer's cache hierarchy with the pipeline of the hooks, which is separate code.
#include "tracer/hierarchy.hpp"

#include <gtest/gtest.h>

#include <random>

#include "../observe/recording.hpp"
#include "core/error.hpp"

namespace terrace::tracer::test {
using observe::test::Bench;
using observe::test::cache;
using observe::test::small_config;

namespace {

struct Access {
  std::uint64_t offset;
  bool store;
};

// Sweeps, strides and random accesses over a little more than the last cache holds.
std::vector<Access> any_accesses(std::uint64_t seed, std::size_t bytes) {
  std::mt19937_64 random(seed);
  std::vector<Access> accesses;
  while (accesses.size() < 40000) {
    const auto begin = random() % bytes;
    const auto stride = random() % 3 == 0 ? 8 : 8 * (1 + random() % 40);
    const auto count = random() % 200;
    const bool jumps = random() % 3 == 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto at = jumps ? random() % bytes : (begin + i * stride) % bytes;
      accesses.push_back({at / 8 * 8, random() % 3 == 0});
    }
  }
  return accesses;
}

std::vector<observe::PipelineConfig> configs() {
  std::vector<observe::PipelineConfig> result(5);
  result[0] = small_config();
  result[1].caches = {cache(8192, 4, true)};
  result[2].caches = {cache(2048, 2, false), cache(8192, 8, false), cache(50000, 12, true)};
  result[3].caches = {cache(4096, 64, false)};
  result[4].caches = {};
  return result;
}

TEST(Hierarchy, RandomAccesses_EqualPipeline) {
  constexpr std::size_t k_bytes = 160 << 10;
  std::uint64_t seed = 0;
  for (const auto& config : configs()) {
    Bench bench(k_bytes, config);
    Hierarchy caches({config.caches, config.line});
    for (const auto& [offset, store] : any_accesses(++seed, k_bytes)) {
      bench.pipeline->range(bench.base + offset, 8, store, 1);
      caches.access(0, offset / 64, store);
    }
    bench.pipeline->flush();
    EXPECT_EQ(caches.fetched(), bench.sink.fetched()) << config.caches.size() << " caches";
    EXPECT_EQ(caches.written(), bench.sink.count(observe::MissKind::writeback))
        << config.caches.size() << " caches";
  }
}

TEST(Hierarchy, PrivateLevels_AreNotShared) {
  Hierarchy caches({small_config().caches, small_config().line});
  EXPECT_TRUE(caches.access(0, 7, false));
  EXPECT_FALSE(caches.access(3, 7, false));  // in the shared level
  Hierarchy apart({{cache(4096, 8, false)}, Bytes{64}});
  EXPECT_TRUE(apart.access(0, 7, false));
  EXPECT_TRUE(apart.access(3, 7, false));
  EXPECT_FALSE(apart.access(3, 7, true));
}

TEST(Hierarchy, InvalidCaches_AreRefused) {
  Caches config;
  config.levels = {cache(4096, 8, true), cache(4096, 8, false)};
  EXPECT_THROW(Hierarchy{config}, Error);
  config = {small_config().caches, Bytes{48}};
  EXPECT_THROW(Hierarchy{config}, Error);
}

}  // namespace
}  // namespace terrace::tracer::test
