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

// Ten tiles: while one runs, the next comes and the last one leaves. Copies one way take as long as loops, both
// ways share the memory; so each tile's time is that of what is copied, and loops run for half of it.
TEST(Slots, CopiesAreHiddenBehindLoops) {
  constexpr std::ptrdiff_t rows = 100;
  auto pair = pair_with(240e3, 1e12, 8e3, 32e3);  // loops read and write: 160e3 bytes of each tile, 5 s
  pair.slow_read = pair.slow_write = 1e12;        // a link, with its bandwidth each way
  auto made = mode("slots", pair, datasets(1, rows), {true, false, false});
  made->run(updates(0, rows));
  const auto& counts = made->counts();
  // The first comes alone, and the last one's results leave alone: 10 s each; between, ten tiles wait for copies.
  EXPECT_NEAR(counts.bytes_in, 800e3, 1);
  EXPECT_NEAR(counts.bytes_out, 800e3, 1);
  EXPECT_NEAR(counts.loop_seconds, 50, 1e-6);
  EXPECT_NEAR(counts.seconds, 10 * 10 + 5 + 10, 1e-6);
  EXPECT_NEAR(counts.copy_seconds, counts.seconds, 1e-6);
  EXPECT_NEAR(counts.hidden_seconds, 50, 1e-6);
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

// Chains go forward and back, in chunks of 4096 bytes; loops take ten times as long as copies do.
TEST(Streamed, CopiesAreHiddenBehindLoops) {
  constexpr std::ptrdiff_t rows = 250;
  constexpr DatasetId count = 3;
  const auto run = [&](double loops, bool is_prefetched) {
    auto made =
        mode("streamed", pair_with(2e6, 1e9, 30e3, loops), datasets(count, rows), {true, true, is_prefetched});
    const auto chain = sweeps(count, rows, 12);
    ModeCounts before;
    for (int i = 0; i < 12; ++i) {
      if (i == 6) before = made->counts();
      made->run(chain);
    }
    auto more = made->counts();
    more.seconds -= before.seconds;
    more.loop_seconds -= before.loop_seconds;
    more.copy_seconds -= before.copy_seconds;
    more.hidden_seconds -= before.hidden_seconds;
    more.bytes_in -= before.bytes_in;
    more.bytes_out -= before.bytes_out;
    return more;
  };
  const auto slow = run(30e3, true);
  EXPECT_GT(slow.bytes_in + slow.bytes_out, 6e6);  // of 6e6 bytes a third stays from chain to chain
  EXPECT_GT(slow.overlap(), 0.99);
  EXPECT_LT(slow.seconds, 1.01 * slow.loop_seconds);
  // Where loops take next to nothing there is nothing to hide copies behind: they take their bytes' time.
  const auto fast = run(1e9, true);
  EXPECT_LT(fast.overlap(), 0.01);
  EXPECT_NEAR(fast.seconds, (fast.bytes_in + fast.bytes_out) / 30e3, 0.05 * fast.seconds);
  // And what is between: no more than the longer of the two, and the begin of chains.
  const auto even = run(150e3, true);
  EXPECT_LT(even.seconds, 0.75 * (even.loop_seconds + even.copy_seconds));
  EXPECT_GT(even.overlap(), 0.5);
}

TEST(Streamed, ChainsWithoutRoomAreRefused) {
  const auto pair = pair_with(1e5, 1e6, 1e4, 1e6);
  auto made = mode("streamed", pair, datasets(2, 400));
  try {
    made->run(sweeps(2, 400, 100));
    FAIL();
  } catch (const NoTileFits& error) {
    EXPECT_STREQ(error.what(), "97.7KiB has no room for a tile of 100 loops");
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

TEST(Unified, OverlapIsWhatComesWhileTheTileBeforeRuns) {
  constexpr std::ptrdiff_t rows = 400;
  auto pair = pair_with(4e6, 1e9, 30e3, 60e3);
  pair.fault = 1e-3;
  pair.fault_bytes = 65536;
  const auto run = [&](bool is_prefetched) {
    auto made = mode("unified", pair, datasets(2, rows), {true, true, is_prefetched});
    made->run(sweeps(2, rows, 4));
    return made->counts();
  };
  const auto with = run(true), without = run(false);
  EXPECT_EQ(without.overlap(), 0);
  EXPECT_NEAR(without.seconds, without.loop_seconds + without.copy_seconds, 1e-6);
  EXPECT_GT(with.overlap(), 0.5);
  EXPECT_NEAR(with.seconds, with.loop_seconds + with.copy_seconds - with.hidden_seconds, 1e-6);
}

// --- room in the slow memory ---

TEST(SlowMemory, HasToHaveTheDatasets) {
  for (const auto* variant : modes()) {
    if (variant->name() == "flat-fast") continue;
    auto pair = pair_with(1e6, 1e9, 1e8, 1e9);
    pair.fault = pair.fault_bytes = 1;
    pair.slow_name = "ddr";
    pair.fast_name = "hbm";
    pair.slow_bytes = variant->name() == "unified" ? 15.9e6 - 1e6 : 15.9e6;
    const auto made = variant->make(pair, {});
    const auto two = datasets(2, 1000);  // 8e6 bytes each
    made->add(two[0]);
    try {
      made->add(two[1]);
      FAIL() << variant->name();
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find("the datasets do not fit into ddr"), 0) << error.what();
      EXPECT_NE(std::string(error.what()).find("slow_memory="), std::string::npos);
    }
  }
}

TEST(SlowMemory, HasNothingOfWhatIsNeverStored) {
  auto pair = pair_with(1e6, 1e9, 1e8, 1e9);
  pair.slow_bytes = 9e6;
  auto two = datasets(2, 1000);
  two[1].is_temporary = true;
  EXPECT_NO_THROW(static_cast<void>(mode("streamed", pair, two)));
  EXPECT_THROW(static_cast<void>(mode("streamed", pair, two, {true, false, true})), Error);
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
  // A loop, or a part of it, row by row and point by point.
  void run(const Loop& of) { run(of, of.range); }
  void run(const Loop& of, const Range& part) {
    for (auto z = part.begin[2]; z < part.end[2]; ++z)
      for (auto y = part.begin[1]; y < part.end[1]; ++y)
        for (auto x = part.begin[0]; x < part.end[0]; ++x)
          for (const auto& one : of.arguments) {
            if (reads(one.access))
              for (const auto& offset : one.stencil.offsets())
                touch(one.dataset, {x + offset[0], y + offset[1], z + offset[2]}, false);
            if (writes(one.access)) touch(one.dataset, {x, y, z}, true);
          }
  }
  [[nodiscard]] double missed() const { return missed_; }
  [[nodiscard]] double stored() const { return stored_; }

 private:
  static constexpr std::size_t k_none = ~std::size_t{0};
  void touch(DatasetId id, const Point& at, bool is_written) {
    const auto& range = abouts_[id].range;
    const auto row = (at[2] - range.begin[2]) * range.length(1) + at[1] - range.begin[1];
    const auto point = first_[id] + static_cast<std::size_t>(row * range.length(0) + at[0] - range.begin[0]);
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

// What a chain in tiles misses and stores in a cache of points; the first chain is not counted.
double moved(const Chain& chain, const std::vector<DatasetAbout>& abouts, std::size_t room,
             const std::array<std::ptrdiff_t, k_most_dims>& size) {
  PointCache points(abouts, room, room);
  const TilePlan plan(chain, size);
  double before = 0;
  for (int times = 0; times < 2; ++times) {
    before = points.missed() + points.stored();
    std::array<std::size_t, k_most_dims> tile;
    for (tile[2] = 0; tile[2] < plan.tiles()[2]; ++tile[2])
      for (tile[1] = 0; tile[1] < plan.tiles()[1]; ++tile[1])
        for (tile[0] = 0; tile[0] < plan.tiles()[0]; ++tile[0])
          for (std::size_t l = 0; l < chain.size(); ++l) points.run(chain[l], plan.part(l, tile));
  }
  return points.missed() + points.stored() - before;
}

// In three dimensions a chain whose loops reach far has more of its data again in columns than in slices, where
// the cache has no room for what a slice of whole planes reaches beyond itself. By all slices and columns that
// there are, in a cache of points.
TEST(Cache, CutsTwoDimensionsWhereThatIsLess) {
  const Range whole{{0, 4}, {0, 100}, {0, 100}};
  std::vector<DatasetAbout> abouts;
  for (DatasetId id = 0; id < 2; ++id) abouts.push_back(dataset(id, whole));
  Chain chain;
  for (DatasetId i = 0; i < 20; ++i)
    chain.push_back(loop({{0, 4}, {1, 99}, {1, 99}}, {argument(i % 2, Access::read, {0, -1, -1}, {0, 1, 1}),
                                                      argument((i + 1) % 2, Access::write)}));
  constexpr std::size_t room = 24000;  // 30 planes of both; the chain reaches 20 further
  auto slices = HUGE_VAL, columns = HUGE_VAL;
  for (std::ptrdiff_t length = 2; length < 100; length += 1 + length / 4) {
    slices = std::min(slices, moved(chain, abouts, room, {0, 0, length}));
    columns = std::min(columns, moved(chain, abouts, room, {0, length, length}));
  }
  EXPECT_LT(columns, 0.95 * slices);
  // The slow memory is what counts.
  const auto made = mode("cache", pair_with(8.0 * room, 1e12, 1e5, 1e12), abouts, {});
  made->run(chain);
  const auto first = made->counts();
  made->run(chain);
  const auto ours = (made->counts().bytes_in + made->counts().bytes_out - first.bytes_in - first.bytes_out) / 8;
  EXPECT_LT(ours, 0.95 * slices);
  EXPECT_NEAR(ours / columns, 1, 0.1);
}

}  // namespace
}  // namespace terrace::stencil::test
