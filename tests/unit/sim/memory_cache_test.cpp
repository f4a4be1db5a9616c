// Tests fast memory as a cache, against a direct-mapped cache written from its definition, and against the
// placements that it must equal at both ends.
#include "sim/engine/memory_cache.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "core/error.hpp"
#include "world.hpp"

namespace terrace::sim {
namespace {

using observe::Miss;
using observe::MissKind;

// Reference model: lines by address in a map of sets, and the traffic of each access on fast and slow memory.
struct Model {
  std::uint64_t sets;
  struct Line {
    std::uint64_t address;
    bool dirty;
  };
  std::map<std::uint64_t, Line> cached;
  std::uint64_t fast_read = 0, fast_written = 0, slow_read = 0, slow_written = 0;

  void access(std::uint64_t address, bool write) {
    const auto set = address % sets;
    const auto there = cached.find(set);
    const bool hit = there != cached.end() && there->second.address == address;
    if (!hit && there != cached.end() && there->second.dirty) ++slow_written;
    if (write) {
      ++fast_written;
      cached[set] = {address, true};
      return;
    }
    ++fast_read;
    if (hit) return;
    ++slow_read;
    ++fast_written;
    cached[set] = {address, false};
  }
};

TEST(MemoryCache, RandomAccesses_AgreeWithADirectMappedCache) {
  std::mt19937 random(23);
  for (const std::uint64_t sets : {1U, 7U, 64U, 100U, 1000U}) {
    TestWorld world;
    const std::vector<std::uint32_t> sizes{4096, 16384, 4096, 65536, 64 * 100};
    std::vector<std::uint64_t> first;
    std::uint64_t lines = 0;
    for (const auto size : sizes) {
      world.add_chunks(1, size, 1);
      first.push_back(lines);
      lines += size / 64;
    }
    MemoryCache cache(world.chunks, 0, 1, Bytes{sets * 64 + 63}, Bytes{64});
    const observe::PlaceView view(world.machine, 0);
    Model model{sets, {}};
    TimeLaw::Traffic traffic(2);
    for (int n = 0; n < 50; ++n) {
      std::vector<Miss> misses;
      for (int i = 0; i < 200; ++i) {
        // Half of the accesses are near one another, so that some hit in the smallest cache, too.
        const auto chunk = static_cast<std::uint32_t>(random() % sizes.size());
        const auto line = random() % (random() % 2 ? 4 : sizes[chunk] / 64);
        const auto kind = static_cast<MissKind>(random() % 4);
        misses.push_back({chunk, static_cast<std::uint16_t>(line), 0, kind});
        model.access(first[chunk] + line, kind == MissKind::writeback);
      }
      cache.add_traffic({0, 200, 200, {}, misses}, view, traffic);
      ASSERT_EQ(traffic[0].read(), model.fast_read) << sets;
      ASSERT_EQ(traffic[0].written, model.fast_written) << sets;
      ASSERT_EQ(traffic[1].read(), model.slow_read) << sets;
      ASSERT_EQ(traffic[1].written, model.slow_written) << sets;
    }
  }
}

TEST(MemoryCache, Misses_KeepTheirKinds) {
  TestWorld world;
  world.add_chunks(1, 4096, 1);
  world.add_chunks(1, 4096, 0);  // in fast memory: bypasses the cache
  MemoryCache cache(world.chunks, 0, 1, Bytes{4096}, Bytes{64});
  const observe::PlaceView view(world.machine, 0);
  TimeLaw::Traffic traffic(2);
  const std::vector<Miss> misses{{0, 1, 255, MissKind::dependent},
                                 {0, 1, 100, MissKind::dependent},
                                 {1, 1, 0, MissKind::prefetched},
                                 {memory::k_no_chunk, 5, 7, MissKind::independent}};
  cache.add_traffic({0, 4, 4, {}, misses}, view, traffic);
  EXPECT_EQ(traffic[0].dependent, 2U);
  EXPECT_EQ(traffic[0].weight, 355U);
  EXPECT_EQ(traffic[0].prefetched, 1U);
  EXPECT_EQ(traffic[0].written, 1U);
  EXPECT_EQ(traffic[1].dependent, 1U);
  EXPECT_EQ(traffic[1].weight, 255U + 7U);
  EXPECT_EQ(traffic[1].independent, 1U);
}

// A recording may hold anything: a line outside the chunk is wrapped into it.
TEST(MemoryCache, LinesOutsideTheChunk_AreWrapped) {
  TestWorld world;
  world.add_chunks(2, 4096, 1);
  MemoryCache cache(world.chunks, 0, 1, Bytes{1 << 20}, Bytes{64});
  TimeLaw::Traffic traffic(2);
  const std::vector<Miss> misses{{1, 64 + 3, 0, MissKind::prefetched}, {1, 3, 0, MissKind::prefetched}};
  cache.add_traffic({0, 2, 2, {}, misses}, observe::PlaceView(world.machine, 0), traffic);
  EXPECT_EQ(traffic[0].read(), 2U);
  EXPECT_EQ(traffic[1].read(), 1U);
}

double pass(TestWorld& world, const SyntheticArray& array) {
  const auto before = world.now();
  SyntheticGenerator synthetic(world.virtual_machine, Bytes{64});
  synthetic.stream(StreamKernel::sum, std::span(&array, 1));
  synthetic.flush();
  return world.now() - before;
}

TEST(CacheMode, CacheLargerThanTheData_IsFastMemoryAfterTheFirstTouch) {
  TestWorld fast, cached;
  const auto in_fast = fast.add_array(100'000, 0);
  const auto in_slow = cached.add_array(100'000, 1);
  cached.virtual_machine.enable_cache_mode(0, Bytes{100'352 * 64});
  const auto first = pass(cached, in_slow);
  const auto fast_pass = pass(fast, in_fast);
  // Each line also came from slow memory: its latency (86 ns) once more, of which a prefetched line exposes 1/20.
  EXPECT_NEAR(first - fast_pass, 100'000 * 86e-9 / 20, 1e-9 * first);
  EXPECT_NEAR(pass(cached, in_slow), fast_pass, 1e-9 * fast_pass);
  EXPECT_EQ(cached.virtual_machine.account().misses, 200'000U);
}

// A stream over twice the cache never hits: each line is displaced before its next access.
TEST(CacheMode, StreamOverTwiceTheCache_NeverHits) {
  TestWorld world;
  const auto array = world.add_array(65'536, 1);
  world.virtual_machine.enable_cache_mode(0, Bytes{32'768 * 64});
  const auto first = pass(world, array);
  EXPECT_NEAR(pass(world, array), first, 1e-9 * first);
}

TEST(CacheMode, InvalidCache_IsRejected) {
  TestWorld world;
  EXPECT_THROW(MemoryCache(world.chunks, 1, 1, Bytes{1 << 20}, Bytes{64}), Error);
  EXPECT_THROW(MemoryCache(world.chunks, 0, 1, Bytes{63}, Bytes{64}), Error);
  world.add_chunks(1, 2 * k_max_lines_per_cached_chunk * 64, 1);
  MemoryCache cache(world.chunks, 0, 1, Bytes{1 << 20}, Bytes{64});
  const std::vector<Miss> misses{{0, 1, 0, MissKind::prefetched}};
  TimeLaw::Traffic traffic(2);
  EXPECT_THROW(cache.add_traffic({0, 1, 1, {}, misses}, observe::PlaceView(world.machine, 0), traffic), Error);
}

}  // namespace
}  // namespace terrace::sim
