// Compares page walks with closed forms of LRU and with lists: which misses of the first cache hit in the TLB, and
// which of the others count.
#include <gtest/gtest.h>

#include <list>
#include <numeric>
#include <random>
#include <set>
#include <unordered_map>

#include "core/error.hpp"
#include "core/rounding.hpp"
#include "recording.hpp"

namespace terrace::observe::test {
namespace {

machine::Tlb tlb(std::uint32_t entries, std::uint32_t ways, std::uint64_t page = k_page) {
  return {entries, ways, Bytes{page}, Seconds{1e-9}};
}

// A first cache of one line, so that every other line misses it, and an outer one that keeps all lines.
PipelineConfig one_line_then_all(const machine::Tlb& of) {
  PipelineConfig config;
  config.caches = {cache(64, 1, false), cache(16 << 20, 16, true)};
  config.tlb = of;
  return config;
}

class Pages : public Bench {
 public:
  Pages(std::size_t pages, const machine::Tlb& of) : Bench(pages * k_page, one_line_then_all(of)) {
    // Fetch all lines into the outer cache.
    for (std::size_t page = 0; page < pages; ++page) load_page(page);
    EXPECT_EQ(walks(), 0U) << "what comes from memory has its walk in the latency";
  }
  // One line of each page, so spread that the lines fit into any cache.
  void load_page(std::size_t page) { load(as<char>() + page * k_page + page % 64 * 64); }
  std::uint64_t walks() {
    pipeline->flush();
    return sink.walks;
  }
};

TEST(Tlb, FittingPages_WalkOnce) {
  for (const std::size_t pages : {2U, 15U, 16U}) {
    Pages bench(pages + 16, tlb(16, 16));  // the last ones evict the first
    for (int pass = 0; pass < 5; ++pass)
      for (std::size_t page = 0; page < pages; ++page) bench.load_page(page);
    EXPECT_EQ(bench.walks(), pages);
  }
}

TEST(Tlb, OnePageTooMany_WalksEveryTime) {
  for (const std::size_t pages : {17U, 40U}) {
    Pages bench(pages, tlb(16, 16));
    for (int pass = 0; pass < 5; ++pass)
      for (std::size_t page = 0; page < pages; ++page) bench.load_page(page);
    EXPECT_EQ(bench.walks(), 5 * pages);
  }
}

TEST(Tlb, Sets_IndexedByPage) {
  // Every 16th page of a TLB of 16 sets falls into one set of four ways.
  for (const std::size_t pages : {4U, 5U}) {
    Pages bench(16 * 16, tlb(64, 4));
    for (int pass = 0; pass < 3; ++pass)
      for (std::size_t page = 0; page < pages; ++page) bench.load_page(16 * page);
    EXPECT_EQ(bench.walks(), pages == 4 ? 4U : 15U);
  }
}

TEST(Tlb, LargerPages_ReachFarther) {
  constexpr std::uint64_t k_large = 65536;
  Pages bench(256, tlb(8, 8, k_large));
  Location at;
  ASSERT_TRUE(bench.map.find(bench.base, at));
  std::set<std::uint64_t> large;
  for (std::size_t page = 0; page < 64; ++page) large.insert((bench.base + page * k_page + at.delta) / k_large);
  ASSERT_LE(large.size(), 8U);
  for (int pass = 0; pass < 3; ++pass)
    for (std::size_t page = 0; page < 64; ++page) bench.load_page(page);
  EXPECT_EQ(bench.walks(), large.size());
}

TEST(Tlb, FirstCacheHits_DoNotUseTlb) {
  auto config = small_config();  // 64 lines, then 1,024
  config.tlb = tlb(2, 2);
  Bench bench(64 * k_page, config);
  for (int pass = 0; pass < 4; ++pass)
    for (std::size_t page = 0; page < 8; ++page) bench.load(bench.as<char>() + page * k_page + page * 64);
  bench.pipeline->flush();
  EXPECT_EQ(bench.sink.fetched(), 8U);
  EXPECT_EQ(bench.sink.walks, 0U);
}

TEST(Tlb, LastCacheMisses_CountNoWalk) {
  auto config = small_config();
  config.tlb = tlb(4, 4);
  constexpr std::size_t k_bytes = 8 << 20;
  // In order, as prefetched streams, and at random.
  Bench streamed(k_bytes, config);
  for (std::size_t at = 0; at < k_bytes; at += 64) streamed.load(streamed.as<char>() + at);
  streamed.pipeline->flush();
  EXPECT_GT(streamed.sink.share(MissKind::prefetched), 0.99);
  EXPECT_EQ(streamed.sink.walks, 0U);
  Bench random(k_bytes, config);
  std::mt19937_64 numbers(3);
  std::vector<std::size_t> lines(k_bytes / 64);
  std::iota(lines.begin(), lines.end(), 0);
  std::shuffle(lines.begin(), lines.end(), numbers);
  for (const auto line : lines) random.load(random.as<char>() + line * 64);
  random.pipeline->flush();
  EXPECT_EQ(random.sink.fetched(), lines.size());
  EXPECT_EQ(random.sink.walks, 0U);
}

TEST(Tlb, EachThread_HasOwnTlb) {
  Pages bench(4, tlb(8, 8));
  for (std::size_t page = 0; page < 4; ++page) bench.load_page(page);
  EXPECT_EQ(bench.walks(), 0U);
  RecordingSink sink;
  Pipeline other(one_line_then_all(tlb(8, 8)), *bench.shared, bench.map, sink, 1, nullptr);
  for (int pass = 0; pass < 2; ++pass)
    for (std::size_t page = 0; page < 4; ++page)
      other.access(bench.base + page * k_page + page % 64 * 64, 8, false, 1);
  other.flush();
  EXPECT_EQ(sink.walks, 4U);
  for (std::size_t page = 0; page < 4; ++page) bench.load_page(page);
  EXPECT_EQ(bench.walks(), 0U);
}

TEST(Tlb, NoTlb_NoWalks) {
  Pages bench(512, {});
  for (int pass = 0; pass < 3; ++pass)
    for (std::size_t page = 0; page < 512; ++page) bench.load_page(page);
  EXPECT_EQ(bench.walks(), 0U);
}

// LRU by definition: a list for each set, the most recent first, and a map for look-ups.
class Lru {
 public:
  Lru(std::uint64_t sets, std::uint64_t ways) : ways_(ways), sets_(sets) {}
  bool access(std::uint64_t key) {
    auto& set = sets_[key % sets_.size()];
    const auto found = where_.find(key);
    const bool hit = found != where_.end();
    if (hit) {
      set.erase(found->second);
    } else if (set.size() == ways_) {
      where_.erase(set.back());
      set.pop_back();
    }
    set.push_front(key);
    where_[key] = set.begin();
    return hit;
  }

 private:
  std::uint64_t ways_;
  std::vector<std::list<std::uint64_t>> sets_;
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> where_;
};

struct Case {
  std::uint64_t first_lines, first_ways;
  bool first_shared;
  machine::Tlb tlb;
};

class RandomAccesses : public testing::TestWithParam<Case> {};

TEST_P(RandomAccesses, Walks_EqualReferenceModel) {
  const auto& of = GetParam();
  constexpr std::size_t k_bytes = 3 << 20;
  PipelineConfig config;
  config.caches = {cache(of.first_lines * 64, static_cast<std::uint32_t>(of.first_ways), of.first_shared),
                   cache(16 << 20, 16, true)};
  config.tlb = of.tlb;
  config.quantum_accesses = 1000;
  Bench bench(k_bytes, config);
  Location location;
  ASSERT_TRUE(bench.map.find(bench.base, location));
  Lru first(of.first_lines / of.first_ways, of.first_ways);
  Lru pages(of.tlb.entries / of.tlb.ways, of.tlb.ways);
  std::set<std::uint64_t> fetched;
  std::uint64_t walks = 0;
  std::mt19937_64 random(20);
  for (int i = 0; i < 200'000; ++i) {
    // A few pages often, many rarely; some accesses cross lines and pages.
    const std::uint64_t reach = random() % 3 == 0 ? k_bytes - 64 : 40 * k_page;
    const std::uint64_t offset = random() % reach;
    const auto size = std::uint32_t{1} << random() % 5;
    const auto canonical = bench.base + offset + location.delta;
    for (auto line = canonical / 64; line <= (canonical + size - 1) / 64; ++line) {
      if (first.access(line)) continue;
      const bool cached = !fetched.insert(line).second;
      const bool translated = pages.access(line * 64 / of.tlb.page.value);
      walks += cached && !translated ? 1 : 0;
    }
    bench.pipeline->access(bench.base + offset, size, random() % 3 == 0, 1);
  }
  bench.pipeline->flush();
  EXPECT_EQ(bench.sink.fetched(), fetched.size());
  EXPECT_EQ(bench.sink.walks, walks);
  EXPECT_GT(walks, 1000U);
}

INSTANTIATE_TEST_SUITE_P(Shapes, RandomAccesses,
                         testing::Values(Case{64, 8, false, tlb(16, 16)}, Case{64, 8, true, tlb(48, 4)},
                                         Case{512, 8, false, tlb(1, 1)}, Case{512, 8, false, tlb(96, 12)},
                                         Case{8, 1, false, tlb(200, 200)}, Case{128, 4, false, tlb(8, 2, 16384)}));

TEST(Tlb, InvalidPageSize_IsRefused) {
  for (const std::uint64_t page : {std::uint64_t{32}, std::uint64_t{5000}}) {
    auto config = small_config();
    config.tlb = tlb(4, 4, page);
    EXPECT_THROW(make_shared_cache(config), Error) << page;
  }
}

}  // namespace
}  // namespace terrace::observe::test
