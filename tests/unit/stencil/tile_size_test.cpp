// Sizes of tiles: the model's against all sizes, by what each tile of a plan really touches; the tuner's against
// times that are known.
#include "stencil/execute/tile_size.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "stencil/plan/chain_use.hpp"

namespace terrace::stencil::test {
namespace {

// --- the model ---

constexpr double k_element = 8;
constexpr double k_row = 32;  // points of a row that its beginning takes the time of, by the model

// `count` loops, each of which reads what the one before wrote, at points up to `reach` away.
Chain sweeps(const Range& range, DatasetId datasets, std::size_t count, std::ptrdiff_t reach, std::size_t dims) {
  Chain chain;
  for (std::size_t i = 0; i < count; ++i) {
    Loop loop;
    loop.range = range;
    Point low{0, 0, 0}, high{0, 0, 0};
    for (std::size_t d = 0; d < dims; ++d) low[d] = -reach, high[d] = reach;
    const auto from = static_cast<DatasetId>(i % datasets), to = static_cast<DatasetId>((i + 1) % datasets);
    loop.arguments.push_back({from, "", Access::read, Stencil(std::vector<Point>{low, high}), low, high, 8});
    loop.arguments.push_back({to, "", Access::write, Stencil{}, {0, 0, 0}, {0, 0, 0}, 8});
    chain.push_back(loop);
  }
  return chain;
}

struct Cost {
  double bytes = 0;   // of the largest tile
  double points = 0;  // that all tiles touch, and what beginning their rows takes
};

// By the boxes that each tile's loops write: a dataset's points are touched once in a tile.
Cost cost_of(const Chain& chain, const TileSize& size) {
  const TilePlan plan(chain, size);
  Cost cost;
  std::array<std::size_t, k_most_dims> tile;
  for (tile[2] = 0; tile[2] < plan.tiles()[2]; ++tile[2])
    for (tile[1] = 0; tile[1] < plan.tiles()[1]; ++tile[1])
      for (tile[0] = 0; tile[0] < plan.tiles()[0]; ++tile[0]) {
        std::map<DatasetId, Range> touched;
        for (std::size_t l = 0; l < chain.size(); ++l)
          if (const auto part = plan.part(l, tile); !part.empty()) {
            auto& of = touched.try_emplace(chain[l].arguments[1].dataset, part).first->second;
            of = hull(of, part);
          }
        double bytes = 0;
        for (const auto& [dataset, range] : touched) {
          const auto rows = static_cast<double>(range.length(1) * range.length(2));
          bytes += k_element * static_cast<double>(range.points());
          cost.points += static_cast<double>(range.points()) + k_row * rows;
        }
        cost.bytes = std::max(cost.bytes, bytes);
      }
  return cost;
}

void expect_near_best(const Chain& chain, DatasetId datasets, std::size_t cache, bool has_z) {
  const auto all = chain[0].range;
  const auto chosen = model_size(chain, static_cast<std::size_t>(k_element) * datasets, cache);
  const auto ours = cost_of(chain, chosen);
  EXPECT_LE(ours.bytes, static_cast<double>(cache));
  auto least = HUGE_VAL;
  TileSize best{};
  const auto step = [](std::ptrdiff_t length) { return length + std::max<std::ptrdiff_t>(length / 5, 1); };
  for (std::ptrdiff_t x = 8; x < step(all.length(0)); x = step(x))
    for (std::ptrdiff_t y = 4; y < step(all.length(1)); y = step(y))
      for (std::ptrdiff_t z = has_z ? 4 : 0; z < (has_z ? step(all.length(2)) : 1); z = step(z)) {
        const TileSize size{x < all.length(0) ? x : 0, y < all.length(1) ? y : 0, z};
        const auto cost = cost_of(chain, size);
        if (cost.bytes > 0.75 * static_cast<double>(cache) || cost.points >= least) continue;
        least = cost.points;
        best = size;
      }
  // The model has no rows of less than 64 points, and tries lengths half as long again.
  EXPECT_LT(ours.points, 1.3 * least) << chosen[0] << 'x' << chosen[1] << 'x' << chosen[2] << ", best " << best[0]
                                      << 'x' << best[1] << 'x' << best[2];
}

TEST(ModelSize, IsNearTheBestOfAllInTwoDimensions) {
  for (const std::size_t cache : {80000U, 200000U, 600000U})
    for (const std::size_t loops : {1U, 6U, 20U}) {
      SCOPED_TRACE(std::to_string(cache) + ", " + std::to_string(loops) + " loops");
      expect_near_best(sweeps({{0, 700}, {0, 500}}, 3, loops, 1, 2), 3, cache, false);
    }
}

TEST(ModelSize, IsNearTheBestOfAllInThreeDimensions) {
  for (const std::size_t cache : {300000U, 2000000U})
    for (const std::size_t loops : {2U, 8U}) {
      SCOPED_TRACE(std::to_string(cache) + ", " + std::to_string(loops) + " loops");
      expect_near_best(sweeps({{0, 150}, {0, 90}, {0, 100}}, 2, loops, 1, 3), 2, cache, true);
    }
}

TEST(ModelSize, CutsNothingThatFits) {
  const auto chain = sweeps({{0, 50}, {0, 40}}, 2, 4, 1, 2);
  EXPECT_EQ(model_size(chain, 16, std::size_t{1} << 20U), TileSize{});
}

// --- the tuner ---

// Of a time that is known: what stays after so many chains, and how often each size was tried.
TileSize tuned(const TileSize& model, const std::function<double(const TileSize&)>& time, int chains,
               std::map<TileSize, int>* tried = nullptr) {
  TileTuner tuner;
  for (int i = 0; i < chains; ++i) {
    const auto size = tuner.next(7, model);
    if (tried) ++(*tried)[size];
    tuner.measured(7, time(size));
  }
  return tuner.next(7, model);
}

// Of each factor from the best size.
std::function<double(const TileSize&)> time_with_best(const TileSize& best) {
  return [best](const TileSize& size) {
    double time = 1;
    for (std::size_t d = 0; d < k_most_dims; ++d)
      if (best[d] > 0) time += 0.1 * std::abs(std::log2(double(size[d]) / double(best[d])));
    return time;
  };
}

TEST(TileTuner, FindsTheBestAlongOneDimension) {
  for (const std::ptrdiff_t best : {8, 16, 64, 128, 1024})
    EXPECT_EQ(tuned({0, 64, 0}, time_with_best({0, best, 0}), 20), (TileSize{0, best, 0})) << best;
}

TEST(TileTuner, KeepsTheFastestOfWhatItTried) {
  for (const auto& best : {TileSize{512, 16, 0}, TileSize{64, 256, 4}, TileSize{128, 32, 32}}) {
    const auto time = time_with_best(best);
    std::map<TileSize, int> tried;
    const TileSize model{128, 32, 8};
    const auto kept = tuned(model, time, 60, &tried);
    for (const auto& [size, times] : tried) EXPECT_LE(time(kept), time(size));
    // The model's own neighbours are among them, and what is kept is what runs from then on.
    for (std::size_t d = 0; d < k_most_dims; ++d)
      for (const auto length : {model[d] * 2, model[d] / 2}) {
        auto size = model;
        size[d] = length;
        EXPECT_TRUE(tried.contains(size)) << d << ' ' << length;
      }
    EXPECT_GT(tried[kept], 30);
    EXPECT_LT(tried.size(), 20);
  }
}

TEST(TileTuner, WhatIsHardlyFasterIsNotTaken) {
  const TileSize model{0, 64, 0};
  EXPECT_EQ(tuned(
                model, [&](const TileSize& size) { return size == model ? 1.0 : 0.99; }, 20),
            model);
  EXPECT_NE(tuned(
                model, [&](const TileSize& size) { return size == model ? 1.0 : 0.97; }, 20),
            model);
}

TEST(TileTuner, KindsOfChainsAreTunedEachByItself) {
  TileTuner tuner;
  const auto one = time_with_best({0, 128, 0}), other = time_with_best({0, 32, 0});
  const TileSize model{0, 64, 0};
  for (int i = 0; i < 20; ++i) {
    const auto of_one = tuner.next(1, model);
    tuner.measured(1, one(of_one));
    const auto of_other = tuner.next(2, model);
    tuner.measured(2, other(of_other));
  }
  EXPECT_EQ(tuner.next(1, model), (TileSize{0, 128, 0}));
  EXPECT_EQ(tuner.next(2, model), (TileSize{0, 32, 0}));
  // Nothing is concluded from a chain that nobody measured.
  EXPECT_EQ(tuner.next(3, model), model);
  EXPECT_EQ(tuner.next(3, model), model);
}

}  // namespace
}  // namespace terrace::stencil::test
