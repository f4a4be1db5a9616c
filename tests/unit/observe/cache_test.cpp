// Compares both caches with a model that keeps an LRU list for each set.
#include "observe/cache/cache.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <list>
#include <random>
#include <unordered_map>

#include "observe/cache/first_cache.hpp"

namespace terrace::observe {
namespace {

// Implements true LRU by its definition.
class Model {
 public:
  Model(std::uint64_t sets, std::uint32_t ways) : sets_(sets), ways_(ways) {}
  struct Outcome {
    bool hit = false;
    bool evicted = false;
    std::uint64_t victim = 0;
    bool victim_dirty = false;
  };
  Outcome access(std::uint64_t line, bool store) {
    auto& set = content_[line % sets_];
    for (auto at = set.begin(); at != set.end(); ++at) {
      if (at->line != line) continue;
      at->dirty = at->dirty || store;
      set.splice(set.begin(), set, at);
      return {true, false, 0, false};
    }
    set.push_front({line, store});
    if (set.size() <= ways_) return {};
    const Entry last = set.back();
    set.pop_back();
    return {false, true, last.line, last.dirty};
  }
  // Sets a present line dirty without changing the order.
  bool mark(std::uint64_t line) {
    for (Entry& entry : content_[line % sets_]) {
      if (entry.line == line) return entry.dirty = true;
    }
    return false;
  }
  [[nodiscard]] std::uint64_t num_resident() const {
    std::uint64_t n = 0;
    for (const auto& [index, set] : content_) n += set.size();
    return n;
  }

 private:
  struct Entry {
    std::uint64_t line;
    bool dirty;
  };
  std::uint64_t sets_;
  std::uint32_t ways_;
  std::unordered_map<std::uint64_t, std::list<Entry>> content_;
};

struct Form {
  std::uint64_t size;
  std::uint32_t ways;
};

// Lines with the locality of programs: some frequent, some sequential, some random (also at high addresses).
std::vector<std::uint64_t> lines_of(std::uint64_t capacity, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> lines;
  std::uint64_t at = 0;
  for (int i = 0; i < 30000; ++i) {
    switch (random() % 4) {
      case 0:
        lines.push_back(random() % (capacity / 2 + 1));
        break;
      case 1:
        lines.push_back(at++);
        break;
      case 2:
        lines.push_back(random() % (4 * capacity));
        break;
      default:
        lines.push_back((random() % 3 << 40) + random() % (capacity + 1));
        break;
    }
  }
  return lines;
}

class Caches : public testing::TestWithParam<Form> {};

TEST_P(Caches, OuterCache_RandomAccesses_EqualLruModel) {
  const auto [size, ways] = GetParam();
  Cache cache(Bytes{size}, ways, Bytes{64});
  Model model(cache.shape().sets, cache.shape().ways);
  std::mt19937_64 random(7);
  std::uint64_t hits = 0;
  const auto lines = lines_of(size / 64, size + ways);
  for (const std::uint64_t line : lines) {
    const auto action = random() % 8;
    if (action == 0 && model.mark(line)) {
      ASSERT_TRUE(cache.write_back(line).hit);
      ++hits;
      continue;
    }
    const bool store = action < 4;
    const auto expected = model.access(line, store);
    const auto outcome = action == 0 ? cache.write_back(line) : cache.access(line, store ? word::k_dirty : 0);
    ASSERT_EQ(outcome.hit, expected.hit);
    ASSERT_EQ(outcome.victim != 0, expected.evicted);
    if (expected.evicted) {
      ASSERT_EQ(word::line(outcome.victim), expected.victim);
      ASSERT_EQ((outcome.victim & word::k_dirty) != 0, expected.victim_dirty);
    }
    hits += outcome.hit ? 1 : 0;
  }
  EXPECT_EQ(hits + cache.fills(), lines.size());
  EXPECT_EQ(cache.fills(), cache.evictions() + cache.num_resident());
  EXPECT_EQ(cache.num_resident(), model.num_resident());
}

TEST_P(Caches, FirstCache_RandomAccesses_EqualLruModel) {
  const auto [size, ways] = GetParam();
  FastTable table(size / 64, Bytes{64});
  FirstCache cache(Bytes{size}, ways, Bytes{64}, table);
  const std::atomic<std::uint32_t> generation{2};
  table.begin_epoch(generation);
  const CacheGeometry shape(Bytes{size}, ways, Bytes{64});
  Model model(shape.sets, shape.ways);
  std::mt19937_64 random(9);
  std::uint64_t clock = 0;
  std::uint64_t hits = 0;
  const auto lines = lines_of(size / 64, size + ways + 1);
  constexpr std::uint64_t k_base = 0x7f0000000000;
  for (const std::uint64_t line : lines) {
    const bool store = random() % 2 == 0;
    const std::uint64_t from = k_base + line * 64;
    const auto expected = model.access(line, store);
    // The table agrees with the cache, or has no entry.
    const FastLine& fast = table.entry(from);
    if (table.serves(fast, from, FastLine::limits(64, 64), false)) {
      ASSERT_TRUE(expected.hit);
    }
    std::uint32_t slot = cache.find(line, cache.set_of(line));
    ASSERT_EQ(slot != FirstCache::k_nowhere, expected.hit);
    if (expected.hit) {
      if (table.serves(fast, from, FastLine::limits(64, 64), false)) {
        ASSERT_EQ(fast.used, cache.used() + slot);
      }
      if (table.serves(fast, from, FastLine::limits(64, 64), true)) {
        ASSERT_NE(cache.word(slot) & word::k_dirty, 0u);
      }
      if (store) cache.word(slot) |= word::k_dirty;
      ++hits;
    } else {
      std::uint64_t victim = 0;
      slot = cache.insert(line, cache.set_of(line), store ? word::k_dirty : 0, from, victim);
      ASSERT_EQ(victim != 0, expected.evicted);
      if (expected.evicted) {
        ASSERT_EQ(word::line(victim), expected.victim);
        ASSERT_EQ((victim & word::k_dirty) != 0, expected.victim_dirty);
      }
    }
    cache.used()[slot] = ++clock;
    cache.install(slot, from, from, 2);
  }
  EXPECT_EQ(hits + cache.fills(), lines.size());
  EXPECT_EQ(cache.fills(), cache.evictions() + cache.num_resident());
}

TEST(FastTable, MarkedLine_AccessOfEachKind_IsServedOrFollowed) {
  FastTable table(64, Bytes{64});
  const std::atomic<std::uint32_t> generation{0};
  table.begin_epoch(generation);
  std::uint64_t used = 0;
  const auto limits = FastLine::limits(64, 8);
  constexpr std::uint64_t k_line = 0x7f0000000000;
  struct Expected {
    bool load_served, store_served, load_followed, store_followed;
  };
  const auto expect = [&](std::uint64_t marks, const Expected& expected) {
    FastLine& fast = table.entry(k_line);
    table.set(fast, k_line, marks, &used, 0);
    for (const std::uint64_t offset : {0, 1, 56, 57, 64}) {
      const bool inside = offset <= 56;
      const auto at = k_line + offset;
      EXPECT_EQ(table.serves(fast, at, limits, false), inside && expected.load_served) << marks << " " << offset;
      EXPECT_EQ(table.serves(fast, at, limits, true), inside && expected.store_served) << marks << " " << offset;
      EXPECT_EQ(table.follows(fast, at, limits, false), inside && expected.load_followed)
          << marks << " " << offset;
      EXPECT_EQ(table.follows(fast, at, limits, true), inside && expected.store_followed)
          << marks << " " << offset;
      if (inside && expected.load_served) {
        EXPECT_EQ(table.offset(fast, at), offset);
      }
    }
    EXPECT_FALSE(table.serves(fast, k_line - 1, limits, false));
  };
  expect(0, {true, true, false, false});
  expect(FastLine::k_clean, {true, false, false, false});
  expect(FastLine::k_followed, {false, false, true, true});
  expect(FastLine::k_followed + FastLine::k_clean, {false, false, true, false});
}

TEST(FastTable, Epochs_EntriesOfEarlierEpochs_AreIgnored) {
  FastTable table(64, Bytes{64});
  std::atomic<std::uint32_t> generation{0};
  std::uint64_t used = 0;
  const auto limits = FastLine::limits(64, 8);
  constexpr std::uint64_t k_address = 0x7f0000000000;
  constexpr std::uint64_t k_set_once = k_address + 200 * 64;  // of all tables' entries, 256, none of those below
  const auto serves = [&](std::uint64_t address) {
    return table.serves(table.entry(address), address, limits, false) ||
           table.serves(table.entry(address), address, limits, true) ||
           table.follows(table.entry(address), address, limits, false);
  };
  // More epochs than an entry can represent; each entry is set in an epoch of its own, and some entries of older
  // epochs remain.
  for (int change = 0; change < 40000; ++change) {
    const std::uint64_t address = k_address + static_cast<std::uint64_t>(change % 128) * 64;
    ASSERT_FALSE(serves(address)) << change;
    table.set(table.entry(address), address, 0, &used, generation - 2);  // of a generation that is past
    ASSERT_FALSE(serves(address)) << change;
    table.begin_epoch(generation);
    ASSERT_FALSE(serves(address)) << change;
    table.set(table.entry(address), address, 0, &used, generation);
    ASSERT_TRUE(serves(address)) << change;
    if (change == 0) table.set(table.entry(k_set_once), k_set_once, 0, &used, generation);
    ASSERT_EQ(serves(k_set_once), change == 0) << change;
    generation += 1;
    table.epoch() = 0;
    table.begin_epoch(generation);  // a change is under way
    ASSERT_TRUE(table.is_stale());
    ASSERT_FALSE(serves(address)) << change;
    generation += 1;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, Caches,
                         testing::Values(Form{32768, 8}, Form{49152, 12}, Form{651264, 20}, Form{4096, 64},
                                         Form{64, 8}, Form{6400, 3}, Form{65536, 1}, Form{8192, 17}));

TEST(CacheGeometry, NonPowerOfTwoSets_IndexIsModulo) {
  const CacheGeometry shape(Bytes{636 * 1024}, 20, Bytes{64});
  EXPECT_EQ(shape.sets, 508u);
  std::mt19937_64 random(3);
  for (const std::uint64_t sets : {1ull, 2ull, 3ull, 7ull, 508ull, 4096ull, 1000003ull}) {
    const CacheGeometry some(Bytes{sets * 64}, 1, Bytes{64});
    for (int i = 0; i < 10000; ++i) {
      const std::uint64_t line = random() >> (random() % 58);
      ASSERT_EQ(some.index(line), line % sets) << line << " in " << sets;
    }
  }
}

}  // namespace
}  // namespace terrace::observe
