// Tests the whole pipeline: conservation of counts, write-backs, and independence of host addresses.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <unordered_set>

#include "core/error.hpp"
#include "recording.hpp"

namespace terrace::observe::test {
namespace {

TEST(Pipeline, StreamOverLargeArray_EachLineFetchedOnce) {
  constexpr std::size_t n = 1 << 18;
  Bench bench(n * 8);
  for (std::size_t i = 0; i < n; ++i) bench.load(bench.as<double>() + i);
  bench.pipeline->flush();
  EXPECT_EQ(bench.sink.accesses, n);
  EXPECT_EQ(bench.sink.fetched(), n / 8);
  EXPECT_EQ(bench.sink.count(MissKind::independent), 3u);
  EXPECT_EQ(bench.sink.count(MissKind::writeback), 0u);
  EXPECT_EQ(bench.sink.hits[0], n - n / 8);
}

TEST(Pipeline, Misses_HaveChunkAndLine) {
  Bench bench(4 * 65536);
  for (std::size_t at = 0; at < 4 * 65536; at += 64) bench.load(bench.as<char>() + at);
  bench.pipeline->flush();
  ASSERT_EQ(bench.sink.misses.size(), 4096u);
  for (std::size_t i = 0; i < 4096; ++i) {
    ASSERT_EQ(bench.sink.misses[i].chunk, i / 1024);
    ASSERT_EQ(bench.sink.misses[i].line, i % 1024);
  }
}

// Program arguments share a line of host memory, but have separate canonical lines.
TEST(Pipeline, RangesSharingLine_AreTwoLines) {
  for (const std::size_t begin : {0, 1, 30, 50, 63}) {
    Bench bench(65536);
    const std::uint64_t room = bench.map.add_range(bench.base + 65536, 4096, 65536);
    const std::uint64_t low = bench.base + begin;
    ASSERT_TRUE(bench.map.add_at(low, 10, room + 8192));
    ASSERT_TRUE(bench.map.add_at(low + 10, 10, room + 8256));
    for (int pass = 0; pass < 3; ++pass) {
      for (std::size_t i = 0; i < 20; ++i) bench.load(bench.as<char>() + begin + i);
    }
    bench.pipeline->flush();
    EXPECT_EQ(bench.sink.accesses, 60u) << begin;
    EXPECT_EQ(bench.sink.fetched(), 2u) << begin;
  }
}

TEST(Pipeline, DirtyVictims_WrittenBackToTheirChunk) {
  constexpr std::size_t lines = 8192;
  Bench bench(lines * 64);
  for (std::size_t i = 0; i < lines; ++i) bench.store(bench.as<std::uint64_t>() + i * 8, std::uint64_t{1});
  // Evict the dirty lines by reading the same array twice.
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t i = 0; i < lines; ++i) bench.load(bench.as<std::uint64_t>() + i * 8);
  }
  bench.pipeline->flush();
  std::unordered_set<std::uint64_t> written;
  for (const Miss& miss : bench.sink.misses) {
    if (miss.kind != MissKind::writeback) continue;
    EXPECT_TRUE(written.insert(std::uint64_t{miss.chunk} << 32 | miss.line).second) << "written twice";
  }
  EXPECT_EQ(written.size(), lines);
}

TEST(Pipeline, DirtyLinesOfFreedMemory_AreDropped) {
  constexpr std::size_t lines = 1024;
  Bench bench(64 * lines + (1 << 20));
  for (std::size_t i = 0; i < lines; ++i) bench.store(bench.as<std::uint64_t>() + i * 8, std::uint64_t{1});
  bench.pipeline->flush();
  const std::uint64_t before = bench.sink.count(MissKind::writeback);
  EXPECT_LT(before, lines);
  bench.map.remove_range(bench.base, 64 * lines);
  for (std::size_t i = 0; i < (1 << 14); ++i) bench.load(bench.as<char>() + lines * 64 + i * 64);
  bench.pipeline->flush();
  EXPECT_EQ(bench.sink.count(MissKind::writeback), before);
}

TEST(Pipeline, DirtyLinesOfReassignedRange_GoToNewChunk) {
  constexpr std::size_t lines = 256;
  Bench bench(64 * lines + (1 << 20));
  for (std::size_t i = 0; i < lines; ++i) bench.store(bench.as<std::uint64_t>() + i * 8, std::uint64_t{1});
  bench.map.set_chunk(bench.base, 64 * lines, 77);
  for (std::size_t i = 0; i < (1 << 14); ++i) bench.load(bench.as<char>() + lines * 64 + i * 64);
  bench.pipeline->flush();
  std::uint64_t renamed = 0;
  for (const Miss& miss : bench.sink.misses)
    renamed += miss.kind == MissKind::writeback && miss.chunk == 77 ? 1 : 0;
  EXPECT_EQ(renamed, lines);
}

// Random programs: counts are conserved on all kinds of cache hierarchies.
class Conservation : public testing::TestWithParam<std::vector<machine::Cache>> {};

TEST_P(Conservation, HitsAndMisses_SumToLineAccesses) {
  PipelineConfig config;
  config.caches = GetParam();
  config.quantum_accesses = 1000;
  constexpr std::size_t bytes = 1 << 20;
  Bench bench(bytes, config);
  std::mt19937_64 random(11);
  std::uint64_t line_accesses = 0, accesses = 0;
  for (int i = 0; i < 60000; ++i) {
    const std::uint64_t at = random() % 4 == 0 ? random() % (bytes - 32) : random() % 30000;
    const auto size = std::uint32_t{1} << random() % 5;
    line_accesses += (at % 64 + size > 64) ? 2 : 1;
    ++accesses;
    bench.pipeline->access(bench.base + at, size, random() % 3 == 0, random() % 7);
  }
  bench.pipeline->flush();
  EXPECT_EQ(bench.sink.accesses, accesses);
  EXPECT_EQ(bench.pipeline->accesses(), accesses);
  EXPECT_EQ(bench.sink.all_hits() + bench.sink.fetched(), line_accesses);
  EXPECT_LE(bench.sink.count(MissKind::writeback), bench.sink.fetched());
}

INSTANTIATE_TEST_SUITE_P(Hierarchies, Conservation,
                         testing::Values(std::vector<machine::Cache>{}, std::vector{cache(32768, 8, true)},
                                         std::vector{cache(32768, 8, false)},
                                         std::vector{cache(4096, 4, false), cache(65536, 16, true)},
                                         std::vector{cache(3 * 1024, 6, false), cache(16384, 8, false),
                                                     cache(100 * 1024, 20, true)},
                                         std::vector{cache(2048, 4, false), cache(8192, 8, false),
                                                     cache(32768, 8, true), cache(262144, 16, true)}));

// A cache hierarchy of one level against the definition of LRU, through the whole pipeline: the fast path must not
// change hits.
TEST(Pipeline, OneLevel_HitsEqualLru) {
  for (const bool shared : {false, true}) {
    PipelineConfig config;
    config.caches = {cache(8192, 8, shared)};
    constexpr std::size_t bytes = 1 << 17;
    Bench bench(bytes, config);
    Location at;
    ASSERT_TRUE(bench.map.find(bench.base, at));
    std::vector<std::vector<std::uint64_t>> sets(16);  // most recently used last
    std::uint64_t hits = 0;
    std::mt19937_64 random(12);
    for (int i = 0; i < 100000; ++i) {
      const std::uint64_t offset = (random() % 2 == 0 ? random() % bytes : random() % 8000) & ~std::uint64_t{7};
      const std::uint64_t line = (bench.base + offset + at.delta) / 64;
      auto& set = sets[line % 16];
      const auto found = std::find(set.begin(), set.end(), line);
      if (found != set.end()) {
        ++hits;
        set.erase(found);
      } else if (set.size() == 8) {
        set.erase(set.begin());
      }
      set.push_back(line);
      bench.pipeline->access(bench.base + offset, 8, random() % 2 == 0, 1);
      // Changes of other ranges of the map must have no effect.
      if (i % 1000 == 0) bench.map.add_range(0x1000, 4096);
    }
    bench.pipeline->flush();
    EXPECT_EQ(bench.sink.hits[0], hits);
  }
}

TEST(Pipeline, Range_TouchesEachLineOnce) {
  Bench bench(1 << 20);
  bench.pipeline->range(bench.base + 60, 8, false, 1);         // two lines
  bench.pipeline->range(bench.base + 4096, 640, true, 1);      // ten
  bench.pipeline->range(bench.base + 8192 + 1, 640, true, 1);  // eleven
  bench.pipeline->flush();
  EXPECT_EQ(bench.sink.accesses, 23u);
  EXPECT_EQ(bench.sink.fetched(), 23u);
}

TEST(Pipeline, UnknownAddress_ResolvedOnce) {
  AddressMap map;
  RecordingSink sink;
  const auto config = small_config();
  auto shared = make_shared_cache(config);
  std::vector<std::uint64_t> asked;
  const auto memory = std::make_unique<std::uint64_t[]>(8192);
  const std::uint64_t low = reinterpret_cast<std::uint64_t>(memory.get());
  Pipeline pipeline(config, *shared, map, sink, 3, [&](std::uint64_t address) {
    asked.push_back(address);
    if (address - low >= 65536) return false;
    map.add_range(low, 65536);
    return true;
  });
  for (int i = 0; i < 10; ++i) pipeline.access(low + 8 * static_cast<unsigned>(i), 8, false, 1);
  for (int i = 0; i < 10; ++i) pipeline.access(0x42000 + static_cast<unsigned>(i), 1, false, 1);
  pipeline.flush();
  EXPECT_EQ(asked, (std::vector<std::uint64_t>{low, 0x42000}));
  EXPECT_EQ(pipeline.unknown_accesses(), 10u);
  EXPECT_EQ(unknown_accesses(*shared), 10u);
  EXPECT_EQ(sink.accesses, 20u);
  EXPECT_EQ(sink.all_hits() + sink.fetched(), 10u);
}

TEST(Pipeline, InvalidConfig_IsRefused) {
  auto config = small_config();
  config.line = Bytes{48};
  EXPECT_THROW(make_shared_cache(config), Error);
  config = small_config();
  std::swap(config.caches[0], config.caches[1]);
  EXPECT_THROW(make_shared_cache(config), Error);
  config.caches.assign(5, cache(4096, 4, false));
  EXPECT_THROW(make_shared_cache(config), Error);
}

// A random program with a heap block, a chase, a stack and frees, in memory at a given base.
std::vector<std::uint64_t> run_at(char* heap, char* stack) {
  AddressMap map;
  RecordingSink sink;
  auto config = small_config();
  config.quantum_accesses = 777;
  auto shared = make_shared_cache(config);
  Pipeline pipeline(config, *shared, map, sink, 0, nullptr);
  const auto h = reinterpret_cast<std::uint64_t>(heap);
  const auto s = reinterpret_cast<std::uint64_t>(stack) + 65536;  // of the frame of main
  map.add_stack(s - 65536, s, s + 100);
  map.add_range(h, 1 << 20);
  for (std::uint32_t c = 0; c < 16; ++c) map.set_chunk(h + c * 65536, 65536, c);
  map.set_chunk(s - 65536, 65636, 99);
  std::mt19937_64 random(13);
  // Pointers and indices are in the memory itself.
  for (int i = 0; i < 4096; ++i) {
    char** node = reinterpret_cast<char**>(heap + i * 64);
    *node = heap + (random() % 4096) * 64;
    reinterpret_cast<std::uint64_t*>(heap + (1 << 19))[i] = random() % 4096;
  }
  char* p = heap;
  std::uint64_t index = 0;
  for (int i = 0; i < 40000; ++i) {
    pipeline.access(s - 8 * (random() % 2000) - 8, 8, random() % 2 == 0, 0x1001);
    pipeline.access(reinterpret_cast<std::uint64_t>(p), 8, false, 0x1002);
    std::memcpy(&p, p, 8);
    if (random() % 50 == 0) p = heap + (random() % 4096) * 64;
    const std::uint64_t at = h + (1 << 19) + index * 8;
    pipeline.access(at, 8, false, 0x1003);
    index = reinterpret_cast<std::uint64_t*>(heap + (1 << 19))[index];
    if (i == 20000) {
      map.remove_range(h + 15 * 65536, 65536);
      map.add_range(h + 15 * 65536, 65536);
    }
  }
  pipeline.flush();
  std::vector<std::uint64_t> result(sink.hits.begin(), sink.hits.end());
  for (const Miss& miss : sink.misses) {
    result.push_back(std::uint64_t{miss.chunk} << 32 | std::uint64_t{miss.line} << 16 |
                     std::uint64_t{miss.weight} << 8 | static_cast<std::uint64_t>(miss.kind));
  }
  return result;
}

TEST(Pipeline, DifferentBase_SameResults) {
  // The kernel's randomisation moves mappings by pages and the frame of main by 16 bytes.
  constexpr std::size_t k_bytes = 64 << 20;
  void* arena = mmap(nullptr, k_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(arena, MAP_FAILED);
  char* base = static_cast<char*>(arena);
  const auto first = run_at(base, base + (8 << 20));
  EXPECT_EQ(first, run_at(base + 0x5000, base + (8 << 20) + 0x123450));
  EXPECT_EQ(first, run_at(base + (16 << 20) + 0x7000, base + (3 << 20) + 0xff0));
  EXPECT_GT(first.size(), 1000u);
  munmap(arena, k_bytes);
}

TEST(Pipeline, TwoPipelines_ShareLastLevel) {
  constexpr std::size_t bytes = 1 << 20;
  const auto config = small_config();
  auto shared = make_shared_cache(config);
  AddressMap map;
  std::vector<std::uint64_t> memory(bytes / 8);
  const auto base = reinterpret_cast<std::uint64_t>(memory.data());
  map.add_range(base, bytes);
  struct LockedSink final : observe::AccessSink {
    std::mutex mutex;
    RecordingSink kept;
    void quantum(const observe::Quantum& quantum) override {
      const std::lock_guard lock(mutex);
      kept.quantum(quantum);
    }
  } locked;
  const RecordingSink& sink = locked.kept;
  Pipeline one(config, *shared, map, locked, 0, nullptr);
  Pipeline two(config, *shared, map, locked, 1, nullptr);
  const auto work = [&](Pipeline& pipeline, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 100000; ++i) pipeline.access(base + (random() % bytes & ~7ull), 8, random() % 2 == 0, 1);
    pipeline.flush();
  };
  std::thread other([&] { work(two, 2); });
  work(one, 1);
  other.join();
  EXPECT_EQ(sink.accesses, 200000u);
  EXPECT_EQ(sink.all_hits() + sink.fetched(), 200000u);
}

}  // namespace
}  // namespace terrace::observe::test
