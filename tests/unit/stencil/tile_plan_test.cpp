// Tests tile plans by definition: all points of all loops run once, and no dependence leads from a tile to one
// that may run before it.
#include "stencil/plan/tile_plan.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "points.hpp"
#include "random_chain.hpp"

namespace terrace::stencil::test {
namespace {

using Tile = std::array<std::size_t, k_max_dims>;
using Size = std::array<std::ptrdiff_t, k_max_dims>;

// Stores the tile that runs each point of each loop.
using Owners = OfPoints<std::optional<Tile>>;

std::string text_of(const Tile& tile) {
  return std::to_string(tile[0]) + ' ' + std::to_string(tile[1]) + ' ' + std::to_string(tile[2]);
}

void find_owners(const Chain& chain, const TilePlan& plan, std::vector<Owners>& owners) {
  for (const auto& loop : chain) owners.emplace_back(loop.range);
  Tile tile;
  for (tile[2] = 0; tile[2] < plan.tiles()[2]; ++tile[2])
    for (tile[1] = 0; tile[1] < plan.tiles()[1]; ++tile[1])
      for (tile[0] = 0; tile[0] < plan.tiles()[0]; ++tile[0])
        for (std::size_t l = 0; l < chain.size(); ++l) {
          const auto part = plan.part(l, tile);
          ASSERT_TRUE(chain[l].range.contains(part)) << "loop " << l << ", tile " << text_of(tile);
          for_points(part, [&](const Point& p) {
            EXPECT_FALSE(owners[l].at(p)) << "loop " << l << ", a point of two tiles";
            owners[l].at(p) = tile;
          });
        }
  for (std::size_t l = 0; l < chain.size(); ++l)
    for_points(chain[l].range, [&](const Point& p) {
      ASSERT_TRUE(owners[l].at(p)) << "loop " << l << ", a point of no tile: " << p[0] << ' ' << p[1] << ' '
                                   << p[2];
    });
}

// A loop's point, run by a tile, reads or writes a value of a dataset.
struct Use {
  std::size_t loop;
  Tile tile;
  bool is_write;
  friend bool operator==(const Use&, const Use&) = default;
};

void expect_order(const Use& before, const Use& after) {
  if (before.loop == after.loop || (!before.is_write && !after.is_write)) return;
  for (std::size_t d = 0; d < k_max_dims; ++d)
    ASSERT_LE(before.tile[d], after.tile[d])
        << "loop " << before.loop << (before.is_write ? " writes" : " reads") << " in tile "
        << text_of(before.tile) << " what loop " << after.loop << (after.is_write ? " writes" : " reads")
        << " in tile " << text_of(after.tile);
}

void expect_dependences(const RandomProgram& program, const Chain& chain, const std::vector<Owners>& owners) {
  std::vector<OfPoints<std::vector<Use>>> uses;
  for (std::size_t i = 0; i < program.halos.size(); ++i) uses.emplace_back(range_of(program, i));
  for (std::size_t l = 0; l < chain.size(); ++l)
    for_points(chain[l].range, [&](const Point& p) {
      const auto enter = [&](const Argument& argument, const Point& at, bool is_write) {
        auto& of = uses[argument.dataset].at(at);
        const Use use{l, *owners[l].at(p), is_write};
        if (of.empty() || of.back() != use) of.push_back(use);
      };
      for (const auto& argument : chain[l].arguments) {
        if (reads(argument.access))
          for (const auto& offset : argument.stencil.offsets()) enter(argument, moved(p, offset), false);
        if (writes(argument.access)) enter(argument, p, true);
      }
    });
  for (const auto& of_dataset : uses)
    for_points(of_dataset.range(), [&](const Point& p) {
      const auto& of = of_dataset.at(p);
      for (std::size_t after = 1; after < of.size(); ++after)
        for (std::size_t before = 0; before < after; ++before)
          ASSERT_NO_FATAL_FAILURE(expect_order(of[before], of[after]));
    });
}

void expect_plan(const RandomProgram& program, const Chain& chain, RandomMaker& maker) {
  Size size;
  std::array<bool, k_max_dims> reversed;
  for (std::size_t d = 0; d < k_max_dims; ++d) {
    size[d] = maker.number(0, 9);
    reversed[d] = maker.number(0, 1) == 1;
  }
  SCOPED_TRACE("tiles of " + std::to_string(size[0]) + 'x' + std::to_string(size[1]) + 'x' +
               std::to_string(size[2]) + ", reversed " + std::to_string(reversed[0]) +
               std::to_string(reversed[1]) + std::to_string(reversed[2]));
  const TilePlan plan(chain, size, reversed);
  for (std::size_t d = 0; d < k_max_dims; ++d) ASSERT_TRUE(size[d] > 0 || plan.tiles()[d] == 1);
  std::vector<Owners> owners;
  ASSERT_NO_FATAL_FAILURE(find_owners(chain, plan, owners));
  ASSERT_NO_FATAL_FAILURE(expect_dependences(program, chain, owners));
}

TEST(TilePlan, RandomChains_KeepAllDependences) {
  for (int i = 0; i < random_chains(); ++i) {
    SCOPED_TRACE("seed " + std::to_string(i));
    RandomMaker maker(static_cast<std::uint64_t>(i));
    auto program = maker.make();
    for (auto& loop : program.loops)
      if (maker.number(0, 19) == 0) loop.range.end = loop.range.begin;  // nothing to do
    const auto chain = chain_of(program);
    for (int plans = 0; plans < 4; ++plans) ASSERT_NO_FATAL_FAILURE(expect_plan(program, chain, maker));
  }
}

// Sweeps that alternate between two datasets.
Chain sweeps(std::size_t count, std::ptrdiff_t points, const Stencil& stencil) {
  Chain chain;
  for (std::size_t i = 0; i < count; ++i) {
    const auto from = static_cast<DatasetId>(i % 2), to = static_cast<DatasetId>(1 - i % 2);
    Loop loop{"sweep", 0, Range{{0, points}}, {}, {}, {}};
    loop.arguments = {{from, "", Access::read, stencil, stencil.low(), stencil.high(), 8},
                      {to, "", Access::write, {}, {}, {}, 8}};
    chain.push_back(std::move(loop));
  }
  return chain;
}

// A sweep must be ahead of the next one by the larger of two distances: how far that one reads ahead of its
// point, and how far this one reads behind its own what that one overwrites.
TEST(TilePlan, Skew_IsMinimal) {
  for (const auto& [low, high] : {std::pair{-1, 1}, std::pair{-3, 1}, std::pair{-1, 2}, std::pair{0, 0}}) {
    const Stencil stencil(std::vector<Point>{{low, 0, 0}, {high, 0, 0}});
    for (const auto is_reversed : {false, true}) {
      const TilePlan plan(sweeps(6, 100, stencil), {20, 0, 0}, {is_reversed, false, false});
      EXPECT_EQ(plan.tiles(), (Tile{5, 1, 1}));
      EXPECT_EQ(plan.skew(0), 5 * std::max(-low, high)) << low << ".." << high;
      const auto last = plan.part(5, {0, 0, 0});
      EXPECT_EQ(last, (is_reversed ? Range{{80, 100}} : Range{{0, 20}}));
    }
  }
}

}  // namespace
}  // namespace terrace::stencil::test
