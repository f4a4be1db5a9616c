// Ways to run a chain on two memories in virtual time: against simulations of single points, and against all that
// could have been chosen.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "stencil/engine/engine.hpp"
#include "stencil/virtual/outer_tiles.hpp"
#include "stencil/virtual/stream_run.hpp"
#include "stencil/virtual/virtual_executor.hpp"
#include "virtual_chains.hpp"

namespace terrace::stencil::test {
namespace {

constexpr std::ptrdiff_t k_row = 1000;

// Rows of so many bytes of each dataset; `count` of them.
std::vector<DatasetAbout> datasets(DatasetId count, std::ptrdiff_t rows) {
  std::vector<DatasetAbout> made;
  for (DatasetId id = 0; id < count; ++id) made.push_back(dataset(id, {{0, k_row}, {0, rows}}));
  return made;
}

// --- transfers between blocks ---

TEST(Transfers, TakeAReadAndAWrite) {
  auto made = mode("flat-slow", pair_with(1e9, 1e12, 8e3, 1e12), {});
  Context context(std::make_unique<Engine>(Options{.executor = "virtual"}, make_virtual_executor(*made)));
  const auto left = context.block("left", {100, 10}), right = context.block("right", {100, 10});
  const auto u = left.dataset<double>("u"), v = right.dataset<double>("v", {{0, -1}, {0, 0}});
  context.transfer(u, {{0, 100}, {9, 10}}, v, {{0, 100}, {-1, 0}});
  context.run();
  EXPECT_DOUBLE_EQ(made->counts().accesses, 2 * 100 * 8);
  EXPECT_NEAR(made->counts().seconds, 2 * 100 * 8 / 8e3, 1e-6);
}

// --- slots ---

// Reads one dataset and writes it, a row of 8000 bytes at a time.
Chain updates(DatasetId id, std::ptrdiff_t rows) {
  return {loop({{0, k_row}, {0, rows}}, {argument(id, Access::read_write)})};
}

TEST(Slots, WhatCameForAnotherChainCameForNothing) {
  constexpr std::ptrdiff_t rows = 100;
  // A slot has ten rows, so there are ten tiles; copies take the time, loops next to none.
  const auto pair = pair_with(240e3, 1e12, 8e3, 1e12);
  const auto same = updates(0, rows), other = updates(1, rows);
  const auto run = [&](const std::vector<const Chain*>& chains, bool is_prefetched) {
    auto made = mode("slots", pair, datasets(2, rows), {true, true, is_prefetched});
    for (const auto* chain : chains) made->run(*chain);
    return made->counts();
  };
  const auto wrong = run({&same, &other}, true), right = run({&same, &same}, true);
  const auto never = run({&same, &other}, false);
  EXPECT_EQ(never.tiles, 20);
  EXPECT_DOUBLE_EQ(never.bytes_in, 1600e3);
  EXPECT_DOUBLE_EQ(right.bytes_in, 1600e3);
  EXPECT_DOUBLE_EQ(wrong.bytes_in, 1680e3);  // a tile more
  EXPECT_DOUBLE_EQ(wrong.bytes_out, never.bytes_out);
  // The memory is busy all the time: each byte takes its own.
  EXPECT_NEAR(wrong.seconds - right.seconds, 10, 1e-6);
  EXPECT_GE(wrong.seconds, never.seconds - 1e-6);
}

TEST(Slots, AChainThatNeedsMoreThanCameBringsTheRest) {
  constexpr std::ptrdiff_t rows = 100;
  const auto pair = pair_with(480e3, 1e12, 8e3, 1e12);
  const auto first = updates(0, rows);
  auto second = updates(0, rows);
  second[0].arguments.push_back(argument(1, Access::read));
  auto made = mode("slots", pair, datasets(2, rows), {});
  made->run(first);
  EXPECT_DOUBLE_EQ(made->counts().bytes_in, 800e3);
  made->run(second);
  // The first tile has fewer rows now than came of its one dataset, twenty: ten of both, and ten came for nothing.
  EXPECT_DOUBLE_EQ(made->counts().bytes_in, 800e3 + 160e3 + 1600e3 - 80e3);
}

TEST(Slots, WhatTheLastTilesWriteIsNotBroughtBeforeItIsThere) {
  // One tile has it all: nothing of what it writes can come for the next chain while it runs.
  constexpr std::ptrdiff_t rows = 10;
  const auto pair = pair_with(300e3, 1e12, 8e3, 8e3);
  auto made = mode("slots", pair, datasets(1, rows), {});
  const auto chain = updates(0, rows);
  made->run(chain);
  EXPECT_NEAR(made->counts().seconds, 10 + 20 + 10, 1e-6);  // in, loops, out
  made->run(chain);
  EXPECT_NEAR(made->counts().seconds, 80, 1e-6);
}

// --- streamed ---

// Each loop reads what the one before wrote, at rows beside its own.
Chain sweeps(DatasetId count, std::ptrdiff_t rows, int loops) {
  Chain chain;
  for (int i = 0; i < loops; ++i) {
    const auto from = static_cast<DatasetId>(i) % count, to = (from + 1) % count;
    chain.push_back(loop({{0, k_row}, {2, rows - 2}},
                         {argument(from, Access::read, {0, -2, 0}, {0, 2, 0}), argument(to, Access::write)}));
  }
  return chain;
}

TEST(Streamed, TakesTheTilesThatAreFastest) {
  constexpr std::ptrdiff_t rows = 250;
  constexpr DatasetId count = 3;
  for (const double launch : {0.0, 0.5})
    for (const double slow : {4e3, 30e3}) {
      auto pair = pair_with(2e6, 1e6, slow, 300e3);
      pair.launch = launch;
      const auto abouts = datasets(count, rows);
      const auto chain = sweeps(count, rows, 12);
      constexpr int chains = 6;
      auto made = mode("streamed", pair, abouts, {});
      for (int i = 0; i < chains; ++i) made->run(chain);
      // All lengths that there are, forward and back.
      StreamLayout layout{4096, std::vector<std::size_t>(count, 0), std::vector<bool>(count, false)};
      auto best = HUGE_VAL;
      for (std::ptrdiff_t length = 1; length <= rows; length += 1 + length / 4) {
        const TilePlan forward(chain, {0, length, 0}), back(chain, {0, length, 0}, {false, true, false});
        std::array<std::shared_ptr<const StreamPlan>, 2> plans;
        for (const auto& tiles : {&forward, &back})
          plans[tiles == &back] = std::make_shared<StreamPlan>(plan_stream(chain, *tiles, 1, 1, abouts, layout));
        if (std::max(plans[0]->most_chunks, plans[1]->most_chunks) > 2000000 / 4096) continue;
        StreamRun run(pair, layout.chunk);
        for (const auto& about : abouts) run.add_dataset(kept_chunks(about, layout));
        for (std::size_t i = 0; i < chains; ++i)
          run.run(chain, i % 2 == 0 ? forward : back, plans[i % 2], plans[(i + 1) % 2]);
        best = std::min(best, run.counts().seconds);
      }
      EXPECT_LE(made->counts().seconds, 1.1 * best) << launch << ' ' << slow;
      EXPECT_GE(made->counts().seconds, 0.95 * best);
    }
}

// --- unified ---

TEST(Unified, ChainsWithoutRoomForTilesAreCounted) {
  constexpr std::ptrdiff_t rows = 400;
  auto pair = pair_with(4e6, 1e6, 30e3, 300e3);
  pair.fault = 1e-3;
  pair.fault_bytes = 65536;
  const auto chain = sweeps(2, rows, 100);  // skewed by 200 rows and more
  const auto run = [&](double memory, bool is_tiled) {
    pair.fast_bytes = memory;
    auto made = mode("unified", pair, datasets(2, rows), {is_tiled, true, false});
    made->run(chain);
    made->run(chain);
    return made->counts();
  };
  EXPECT_EQ(run(4e6, true).untiled_chains, 2);  // a quarter of it has 62 rows of each
  EXPECT_EQ(run(4e6, true).tiles, 2);
  EXPECT_EQ(run(4e6, false).untiled_chains, 0);
  EXPECT_EQ(run(40e6, true).untiled_chains, 0);
}

// --- cache ---

// A direct-mapped cache of single points, each of which has a random place; and what hits and leaves it.
class PointCache {
 public:
  PointCache(const std::vector<DatasetAbout>& abouts, std::size_t room, std::uint64_t seed)
      : abouts_(abouts), sets_(room, k_none) {
    std::size_t points = 0;
    for (const auto& about : abouts) {
      first_.push_back(points);
      points += about.range.points();
    }
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<std::size_t> place(0, room - 1);
    for (std::size_t i = 0; i < points; ++i) place_.push_back(place(random));
    is_changed_.resize(points, false);
  }
  // A loop, row by row and point by point.
  void run(const Loop& of) {
    for (auto y = of.range.begin[1]; y < of.range.end[1]; ++y)
      for (auto x = of.range.begin[0]; x < of.range.end[0]; ++x)
        for (const auto& one : of.arguments) {
          if (reads(one.access))
            for (const auto& offset : one.stencil.offsets())
              touch(one.dataset, x + offset[0], y + offset[1], false);
          if (writes(one.access)) touch(one.dataset, x, y, true);
        }
  }
  [[nodiscard]] double missed() const { return missed_; }
  [[nodiscard]] double stored() const { return stored_; }

 private:
  static constexpr std::size_t k_none = ~std::size_t{0};
  void touch(DatasetId id, std::ptrdiff_t x, std::ptrdiff_t y, bool is_written) {
    const auto& range = abouts_[id].range;
    const auto point =
        first_[id] + static_cast<std::size_t>((y - range.begin[1]) * range.length(0) + x - range.begin[0]);
    auto& set = sets_[place_[point]];
    if (set != point) {
      ++missed_;
      if (set != k_none && is_changed_[set]) {
        ++stored_;
        is_changed_[set] = false;
      }
      set = point;
    }
    if (is_written) is_changed_[point] = true;
  }
  std::vector<DatasetAbout> abouts_;
  std::vector<std::size_t> first_, place_, sets_;
  std::vector<bool> is_changed_;
  double missed_ = 0, stored_ = 0;
};

// Three datasets that sweep into one another, and layers at all sides that are copied between the sweeps: what the
// mode says is missing is what is missing in a cache of single points.
TEST(Cache, MissesWhatACacheOfPointsMisses) {
  const Range inner{{0, 150}, {0, 150}}, whole{{-2, 152}, {-2, 152}};
  std::vector<DatasetAbout> abouts;
  for (DatasetId id = 0; id < 3; ++id) abouts.push_back(dataset(id, whole));
  Chain chain;
  for (DatasetId id = 0; id < 3; ++id) {
    const auto next = (id + 1) % 3;
    for (int times = 0; times < 3; ++times)
      for (const auto& [layer, offset] :
           std::initializer_list<std::pair<Range, Point>>{{{{-1, 0}, {0, 150}}, {1, 0, 0}},
                                                          {{{150, 151}, {0, 150}}, {-1, 0, 0}},
                                                          {{{0, 150}, {-1, 0}}, {0, 1, 0}},
                                                          {{{0, 150}, {150, 151}}, {0, -1, 0}}})
        chain.push_back(loop(layer, {argument(id, Access::read_write, offset, offset)}));
    chain.push_back(
        loop(inner, {argument(id, Access::read, {0, 0, 0}, {0, 0, 0}), argument(next, Access::write)}));
  }
  for (const std::size_t room : {20000U, 60000U, 200000U}) {
    auto made = mode("cache", pair_with(8.0 * static_cast<double>(room), 1, 1, 1), abouts, {false, true, true});
    PointCache points(abouts, room, room);
    constexpr int before = 4, chains = 12;
    double missed = 0, stored = 0, ours_missed = 0, ours_stored = 0;
    for (int i = 0; i < chains; ++i) {
      if (i == before) {
        missed = points.missed();
        stored = points.stored();
        ours_missed = made->counts().bytes_in;
        ours_stored = made->counts().bytes_out;
      }
      for (const auto& one : chain) points.run(one);
      made->run(chain);
    }
    EXPECT_NEAR((made->counts().bytes_in - ours_missed) / 8 / (points.missed() - missed), 1, 0.06)
        << "in, " << room;
    EXPECT_NEAR((made->counts().bytes_out - ours_stored) / 8 / (points.stored() - stored), 1, 0.06)
        << "out, " << room;
  }
}

// A layer that is copied in each of many loops does not keep the rest of the data in the cache.
TEST(Cache, LayersRefreshThemselvesAlone) {
  const Range whole{{0, 1000}, {0, 1000}};
  const std::vector<DatasetAbout> abouts{dataset(0, whole), dataset(1, whole)};
  Chain chain;
  chain.push_back(loop(whole, {argument(0, Access::read)}));
  chain.push_back(loop(whole, {argument(1, Access::read)}));
  chain.push_back(loop({{0, 1}, {0, 1000}}, {argument(0, Access::read)}));
  const auto pair = pair_with(1e6, 1, 1, 1);  // an eighth of a dataset
  auto made = mode("cache", pair, abouts, {false, true, true});
  for (int i = 0; i < 3; ++i) made->run(chain);
  EXPECT_GT(made->counts().bytes_in, 0.999 * made->counts().accesses);
}

// Parts that wait for the slow memory and parts that do not, in turns: one process has the sum of what each takes;
// many have the slow memory and their loops at a time.
TEST(Cache, ProcessesOverlapWhatTheyWaitFor) {
  constexpr std::ptrdiff_t rows = 1000;
  std::vector<DatasetAbout> abouts;
  for (DatasetId id = 0; id < 2; ++id) abouts.push_back(dataset(id, {{0, k_row}, {0, rows}}));
  Chain chain;
  for (int i = 0; i < 20; ++i) chain.push_back(loop(abouts[0].range, {argument(0, Access::read)}));
  const auto pair = pair_with(1e6, 1e12, 4e5, 4e6);
  const auto run = [&](double processes) {
    auto made = mode("cache", pair, abouts, {true, true, true, processes});
    made->run(chain);
    return made->counts();
  };
  const auto alone = run(1), four = run(4), many = run(1e9);
  const auto loops = alone.accesses / 4e6;
  const auto slow = (alone.bytes_in + alone.bytes_out) / 4e5;
  EXPECT_GT(alone.seconds, 1.3 * std::max(loops, slow));
  EXPECT_LT(four.seconds, alone.seconds);
  EXPECT_GT(four.seconds, many.seconds);
  EXPECT_NEAR(many.seconds, std::max(many.accesses / 4e6, (many.bytes_in + many.bytes_out) / 4e5),
              1e-6 * many.seconds);
}

// In three dimensions a chain whose loops reach far has more of its data again in columns than in slices, where
// the cache has no room for what a slice of whole planes reaches beyond itself.
TEST(Cache, CutsTwoDimensionsWhereThatIsLess) {
  const Range whole{{0, 8}, {0, 200}, {0, 200}};
  std::vector<DatasetAbout> abouts;
  for (DatasetId id = 0; id < 2; ++id) abouts.push_back(dataset(id, whole));
  Chain chain;
  for (DatasetId i = 0; i < 40; ++i)
    chain.push_back(loop({{0, 8}, {1, 199}, {1, 199}}, {argument(i % 2, Access::read, {0, -1, -1}, {0, 1, 1}),
                                                        argument((i + 1) % 2, Access::write)}));
  const auto pair = pair_with(2e6, 1e12, 1e5, 1e7);  // 78 planes of both, and the chain reaches 40 further
  auto made = mode("cache", pair, abouts, {});
  made->run(chain);
  auto untiled = mode("cache", pair, abouts, {false, true, true});
  untiled->run(chain);
}

}  // namespace
}  // namespace terrace::stencil::test
