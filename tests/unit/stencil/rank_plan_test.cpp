// Tests the decomposition of blocks among ranks, and halo depths of chains.
#include "stencil/ranks/rank_plan.hpp"

#include <gtest/gtest.h>

#include "terrace/stencil.hpp"

namespace terrace::stencil::test {
namespace {

TEST(RankDivision, EachPoint_HasOneRankAndRowsStayWhole) {
  for (const std::ptrdiff_t ny : {1, 2, 5, 40})
    for (const std::ptrdiff_t nz : {1, 3, 40})
      for (std::size_t ranks = 1; ranks <= 24; ++ranks) {
        const Range block{{0, 6}, {0, ny}, {0, nz}};
        const Division division(block, ranks);
        ASSERT_EQ(division.ranks(), ranks);
        for (std::ptrdiff_t z = -2; z < nz + 2; ++z)
          for (std::ptrdiff_t y = -2; y < ny + 2; ++y) {
            auto owners = 0;
            for (std::size_t rank = 0; rank < ranks; ++rank) {
              const auto has = division.own(rank).contains(Point{0, y, z});
              ASSERT_EQ(division.own(rank).contains(Range{{-3, 9}, {y, y + 1}, {z, z + 1}}), has);
              owners += has ? 1 : 0;
            }
            ASSERT_EQ(owners, 1) << "at " << y << ", " << z << " of " << ny << 'x' << nz << ", " << ranks;
          }
        for (std::size_t rank = 0; rank < ranks; ++rank) {
          const auto part = intersection(division.own(rank), block);
          if (part.empty()) continue;
          ASSERT_GE(part.length(1), division.narrowest(1));
          ASSERT_GE(part.length(2), division.narrowest(2));
        }
      }
}

TEST(RankDivision, OutermostDimension_IsCutUntilSurfaceDominates) {
  using Parts = std::array<std::size_t, k_max_dims>;
  const auto parts = [](const Range& block, std::size_t ranks) { return Division(block, ranks).parts(); };
  EXPECT_EQ(parts({{0, 960}, {0, 960}}, 4), (Parts{1, 4, 1}));
  EXPECT_EQ(parts({{0, 10}, {0, 2}}, 4), (Parts{1, 2, 1}));
  EXPECT_EQ(parts({{0, 100}}, 4), (Parts{1, 1, 1}));
  EXPECT_EQ(parts({{0, 256}, {0, 256}, {0, 256}}, 2), (Parts{1, 1, 2}));
  EXPECT_EQ(parts({{0, 256}, {0, 256}, {0, 256}}, 16), (Parts{1, 4, 4}));
  EXPECT_EQ(parts({{0, 256}, {0, 16}, {0, 256}}, 4), (Parts{1, 1, 4}));
  EXPECT_EQ(parts({{0, 8}, {0, 3}, {0, 2}}, 7), (Parts{1, 3, 2}));
}

class ChainMaker {
 public:
  Chain chain;
  void add(const Range& range, const std::vector<std::pair<DatasetId, Stencil>>& read,
           const std::vector<DatasetId>& written, Access access = Access::write) {
    Loop loop;
    loop.range = range;
    for (const auto& [dataset, stencil] : read)
      loop.arguments.push_back({dataset, "", Access::read, stencil, stencil.low(), stencil.high(), 8});
    for (const auto dataset : written) loop.arguments.push_back({dataset, "", access, Stencil{}, {}, {}, 8});
    chain.push_back(loop);
  }
};

Range rows(std::ptrdiff_t from, std::ptrdiff_t to) { return {{0, 10}, {from, to}}; }

TEST(RankPlan, Extensions_AccumulateFromTheEnd) {
  const Range all{{0, 10}, {0, 40}};
  ChainMaker maker;
  const Stencil up{{0, 2}}, down{{0, -1}};
  maker.add({{0, 10}, {1, 38}}, {{0, up}}, {1});    // reads 0, writes 1
  maker.add({{0, 10}, {2, 38}}, {{1, down}}, {2});  // reads 1, writes 2
  const auto work = work_of(maker.chain, {{0, 10}, {10, 20}});
  EXPECT_EQ(work.ranges[1], rows(10, 20));
  EXPECT_EQ(work.ranges[0], rows(9, 20));
  EXPECT_EQ(work.needed.at(0), rows(11, 22));
  const Division division(all, 4);
  const auto pieces = plan_ranks(maker.chain, division, 1);
  ASSERT_EQ(pieces.size(), 1);
  EXPECT_EQ(pieces[0].depth, (Point{0, 2, 0}));
  ASSERT_EQ(pieces[0].received.size(), 1);
  EXPECT_EQ(pieces[0].received[0].rank, 2);
  ASSERT_EQ(pieces[0].received[0].transfers.size(), 1);
  EXPECT_EQ(pieces[0].received[0].transfers[0].range, rows(20, 22));
  EXPECT_EQ(pieces[0].redundant_bytes, 10 * 16);
}

TEST(RankPlan, OverwrittenRange_IsNotNeeded) {
  const Range all{{0, 10}, {0, 40}};
  ChainMaker maker;
  maker.add(all, {}, {0});                                              // for something else
  maker.add(all, {{0, star(2, 0)}}, {2});                               // reads it there
  maker.add(all, {}, {0});                                              // sets it anew
  maker.add({{0, 10}, {3, 37}}, {{0, Stencil{{0, -3}, {0, 3}}}}, {1});  // read with a larger offset
  const auto work = work_of(maker.chain, {{0, 10}, {10, 20}});
  EXPECT_EQ(work.ranges[2], rows(7, 23));
  EXPECT_EQ(work.ranges[1], rows(10, 20));
  EXPECT_EQ(work.ranges[0], rows(10, 20));
  EXPECT_TRUE(plan_ranks(maker.chain, Division(all, 4), 1)[0].exchanged.empty());
}

// A wall's layers depend on rows far from them, which concerns only ranks at the wall.
TEST(RankPlan, LoopsAlongWall_NeedDeepHaloAtWallOnly) {
  const Range all{{0, 10}, {0, 40}};
  ChainMaker maker;
  for (int i = 0; i < 3; ++i) {
    maker.add({{0, 10}, {-1, 0}}, {}, {0});
    auto& wall = maker.chain.back().arguments.back();
    wall = {0, "", Access::read_write, Stencil{{0, 0}, {0, 6}}, {0, 0, 0}, {0, 6, 0}, 8};
    maker.add(all, {{0, star(2, 1)}}, {1});
    maker.add(all, {{1, star(2, 0)}}, {0});
  }
  const auto pieces = plan_ranks(maker.chain, Division(all, 4), 2);
  ASSERT_EQ(pieces.size(), 1);
  EXPECT_EQ(pieces[0].depth, (Point{0, 3, 0}));
}

TEST(RankPlan, TooDeepChain_IsBisected) {
  const Range all{{0, 10}, {0, 40}};
  ChainMaker maker;
  for (DatasetId i = 0; i < 12; ++i) maker.add(all, {{i % 2, star(2, 1)}}, {1 - i % 2});
  for (auto& loop : maker.chain) loop.range = {{1, 9}, {1, 39}};
  const Division division(all, 4);
  EXPECT_EQ(plan_ranks(maker.chain, division, 0, 12).size(), 1);
  EXPECT_EQ(plan_ranks(maker.chain, division, 0, 11).size(), 2);
  EXPECT_EQ(plan_ranks(maker.chain, division, 0, 6).size(), 2);
  EXPECT_EQ(plan_ranks(maker.chain, division, 0).size(), 2);  // 8
  const auto each = plan_ranks(maker.chain, division, 0, 1);
  ASSERT_EQ(each.size(), 12);
  for (std::size_t i = 0; i < each.size(); ++i) {
    EXPECT_EQ(each[i].first, i);
    EXPECT_EQ(each[i].last, i + 1);
  }
}

}  // namespace
}  // namespace terrace::stencil::test
