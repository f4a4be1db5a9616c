// Tests tile sizes: the model against all sizes, by simulating each tile's time and the waits of threads; the
// tuner against known times.
#include "stencil/execute/tile_size.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "stencil/plan/chain_use.hpp"

namespace terrace::stencil::test {
namespace {

// --- the model ---

// Constants of the model, relative to a point whose data are in the cache.
constexpr double k_row = 32;    // overhead of a row
constexpr double k_part = 100;  // overhead of a loop's part of a tile
constexpr double k_doubling = 0.5;
constexpr double k_first = 2;

// Makes `count` loops; each reads the previous one's output at points up to `reach` away.
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

// Returns the time of one tile from its loops. A tile's first access to a point of a dataset counts once.
double time_of_tile(const Chain& chain, const TilePlan& plan, const std::array<std::size_t, k_max_dims>& tile,
                    double room) {
  std::map<DatasetId, Range> touched;
  double points = 0, time = 0;
  for (std::size_t l = 0; l < chain.size(); ++l) {
    const auto part = plan.part(l, tile);
    if (part.empty()) continue;
    auto& of = touched.try_emplace(chain[l].arguments[1].dataset, part).first->second;
    of = hull(of, part);
    const auto own = static_cast<double>(part.points());
    const auto access = 1 + k_doubling * std::max(std::log2(own / room), 0.0);
    time += own * access + k_row * static_cast<double>(part.length(1) * part.length(2)) + k_part;
    points += own;
  }
  double first = 0;
  for (const auto& [dataset, range] : touched) first += static_cast<double>(range.points());
  return time + std::min(k_first * first / 2, k_first * points);  // a loop has two accesses
}

// Returns the time of all tiles: outer tiles are dealt round robin, and each thread stays behind the previous
// one.
double time_of(const Chain& chain, const TileSize& size, const ModelledCache& cache, std::size_t last) {
  const TilePlan plan(chain, size);
  const auto room = 0.75 * static_cast<double>(cache.bytes) / static_cast<double>(cache.point_bytes);
  const auto across = plan.tiles()[0] * (last == 2 ? plan.tiles()[1] : 1);
  std::vector<double> before(across, 0), free(cache.threads, 0);
  for (std::size_t t = 0; t < plan.tiles()[last]; ++t) {
    auto& time = free[t % cache.threads];
    for (std::size_t i = 0; i < across; ++i) {
      std::array<std::size_t, k_max_dims> tile{i % plan.tiles()[0], i / plan.tiles()[0], 0};
      tile[last] = t;
      time = before[i] = std::max(time, before[i]) + time_of_tile(chain, plan, tile, room);
    }
  }
  return *std::ranges::max_element(free);
}

void expect_near_best(const Chain& chain, const ModelledCache& cache, std::size_t last) {
  const auto all = chain[0].range;
  const auto chosen = model_size(chain, cache);
  const auto ours = time_of(chain, chosen, cache, last);
  auto least = HUGE_VAL;
  TileSize best{};
  const auto step = [](std::ptrdiff_t length) { return length + std::max<std::ptrdiff_t>(length / 4, 1); };
  for (std::ptrdiff_t x = 8; x < step(all.length(0)); x = step(x))
    for (std::ptrdiff_t y = 4; y < step(all.length(1)); y = step(y))
      for (std::ptrdiff_t z = last == 2 ? 4 : 0; z < (last == 2 ? step(all.length(2)) : 1); z = step(z)) {
        const TileSize size{x < all.length(0) ? x : 0, y < all.length(1) ? y : 0, z};
        const auto time = time_of(chain, size, cache, last);
        if (time >= least) continue;
        least = time;
        best = size;
      }
  EXPECT_LT(ours, 1.3 * least) << chosen[0] << 'x' << chosen[1] << 'x' << chosen[2] << ", best " << best[0] << 'x'
                               << best[1] << 'x' << best[2];
}

TEST(ModelSize, TwoDimensions_IsNearExhaustiveOptimum) {
  for (const std::size_t threads : {1U, 2U, 6U})
    for (const std::size_t cache : {80000U, 200000U, 600000U})
      for (const std::size_t loops : {1U, 6U, 20U}) {
        SCOPED_TRACE(std::to_string(threads) + " threads, " + std::to_string(cache) + " bytes, " +
                     std::to_string(loops) + " loops");
        expect_near_best(sweeps({{0, 700}, {0, 500}}, 3, loops, 1, 2), {cache, 24, threads}, 1);
      }
}

TEST(ModelSize, ThreeDimensions_IsNearExhaustiveOptimum) {
  for (const std::size_t threads : {1U, 4U})
    for (const std::size_t cache : {300000U, 2000000U})
      for (const std::size_t loops : {2U, 8U}) {
        SCOPED_TRACE(std::to_string(threads) + " threads, " + std::to_string(cache) + " bytes, " +
                     std::to_string(loops) + " loops");
        expect_near_best(sweeps({{0, 150}, {0, 90}, {0, 100}}, 2, loops, 1, 3), {cache, 16, threads}, 2);
      }
}

TEST(ModelSize, DataFitCache_IsUncut) {
  const auto chain = sweeps({{0, 50}, {0, 40}}, 2, 4, 1, 2);
  EXPECT_EQ(model_size(chain, {std::size_t{1} << 20U, 16, 1}), TileSize{});
}

// A single row of tiles would run on one thread.
TEST(ModelSize, SeveralThreads_GetATileEach) {
  const auto chain = sweeps({{0, 900}, {0, 900}}, 2, 4, 1, 2);
  for (const std::size_t threads : {2U, 4U, 8U}) {
    const TilePlan plan(chain, model_size(chain, {std::size_t{1} << 30U, 16, threads}));
    EXPECT_GE(plan.tiles()[0], threads);
    EXPECT_GE(plan.tiles()[1], threads);
  }
}

// --- the tuner ---

// Runs the tuner on a known time function; returns the final size and the trials of each size.
TileSize tuned(const TileSize& model, const std::function<double(const TileSize&)>& time, int chains,
               std::map<TileSize, int>* tried = nullptr) {
  TileTuner tuner;
  for (int i = 0; i < chains; ++i) {
    const auto size = tuner.next(7, model);
    if (tried) ++(*tried)[size];
    tuner.record_time(time(size));
  }
  return tuner.next(7, model);
}

// Time function of the distance from the best size.
std::function<double(const TileSize&)> time_with_best(const TileSize& best) {
  return [best](const TileSize& size) {
    double time = 1;
    for (std::size_t d = 0; d < k_max_dims; ++d)
      if (best[d] > 0) time += 0.1 * std::abs(std::log2(double(size[d]) / double(best[d])));
    return time;
  };
}

TEST(TileTuner, OneDimension_FindsOptimum) {
  for (const std::ptrdiff_t best : {8, 16, 64, 128, 1024})
    EXPECT_EQ(tuned({0, 64, 0}, time_with_best({0, best, 0}), 20), (TileSize{0, best, 0})) << best;
}

TEST(TileTuner, NoisyTimes_KeepsFastestTried) {
  for (const auto& best : {TileSize{512, 16, 0}, TileSize{64, 256, 4}, TileSize{128, 32, 32}}) {
    const auto time = time_with_best(best);
    std::map<TileSize, int> tried;
    const TileSize model{128, 32, 8};
    const auto kept = tuned(model, time, 60, &tried);
    for (const auto& [size, times] : tried) EXPECT_LE(time(kept), time(size));
    // The final size runs from then on, and its neighbours have been tried.
    for (std::size_t d = 0; d < k_max_dims; ++d)
      for (const auto length : {kept[d] * 2, kept[d] / 2}) {
        if (length < 4) continue;
        auto size = kept;
        size[d] = length;
        EXPECT_TRUE(tried.contains(size)) << d << ' ' << length;
      }
    EXPECT_GT(tried[kept], 30);
    EXPECT_LT(tried.size(), 20);
  }
}

TEST(TileTuner, SmallGain_IsNotTaken) {
  const TileSize model{0, 64, 0};
  EXPECT_EQ(tuned(
                model, [&](const TileSize& size) { return size == model ? 1.0 : 0.99; }, 20),
            model);
  EXPECT_NE(tuned(
                model, [&](const TileSize& size) { return size == model ? 1.0 : 0.97; }, 20),
            model);
}

// Pages are faulted in during the first chain.
TEST(TileTuner, SlowFirstRun_DoesNotRuleOutItsSize) {
  for (const auto& model : {TileSize{0, 64, 0}, TileSize{128, 32, 0}}) {
    const auto time = time_with_best(model);
    int runs = 0;
    EXPECT_EQ(tuned(
                  model, [&](const TileSize& size) { return (runs++ == 0 ? 10 : 1) * time(size); }, 30),
              model);
  }
}

// A new best may be an outlier, too: others are not compared with that one time.
TEST(TileTuner, OutlierOfBest_IsMeasuredAgain) {
  const std::map<std::ptrdiff_t, double> times{{64, 1.2}, {128, 1.0}, {256, 1.1}};
  int runs = 0;  // of the fastest
  const auto time = [&](const TileSize& size) {
    if (size[1] == 128 && ++runs == 1) return 1.15;
    return times.contains(size[1]) ? times.at(size[1]) : 2.0;
  };
  EXPECT_EQ(tuned({0, 64, 0}, time, 30), (TileSize{0, 128, 0}));
}

TEST(TileTuner, KindsOfChains_AreTunedSeparately) {
  TileTuner tuner;
  const auto one = time_with_best({0, 128, 0}), other = time_with_best({0, 32, 0});
  const TileSize model{0, 64, 0};
  for (int i = 0; i < 20; ++i) {
    const auto of_one = tuner.next(1, model);
    tuner.record_time(one(of_one));
    const auto of_other = tuner.next(2, model);
    tuner.record_time(other(of_other));
  }
  EXPECT_EQ(tuner.next(1, model), (TileSize{0, 128, 0}));
  EXPECT_EQ(tuner.next(2, model), (TileSize{0, 32, 0}));
}

TEST(TileTuner, NewKindOfSameModel_StartsFromBest) {
  TileTuner tuner;
  const auto one = time_with_best({0, 128, 0});
  const TileSize model{0, 64, 0};
  for (int i = 0; i < 20; ++i) tuner.record_time(one(tuner.next(1, model)));
  EXPECT_EQ(tuner.next(2, model), (TileSize{0, 128, 0}));
  // Chains that were not measured have no effect.
  EXPECT_EQ(tuner.next(2, model), (TileSize{0, 128, 0}));
  const TileSize another{0, 32, 0};
  EXPECT_EQ(tuner.next(2, another), another);
  EXPECT_EQ(tuner.next(1, model), (TileSize{0, 128, 0}));
}

// Such as steps that sweep in x first and steps that sweep in y first.
TEST(TileTuner, ChainsOfSimilarSize_ShareAKind) {
  const auto loops = [](std::ptrdiff_t nx, std::ptrdiff_t ny, int count) {
    std::vector<Loop> chain(static_cast<std::size_t>(count));
    for (auto& loop : chain) loop.range = Range{{0, nx}, {0, ny}};
    return chain;
  };
  EXPECT_EQ(kind_of(loops(1000, 1002, 7)), kind_of(loops(1002, 1000, 7)));
  EXPECT_NE(kind_of(loops(1000, 1000, 7)), kind_of(loops(1000, 1000, 8)));
  EXPECT_NE(kind_of(loops(1000, 1000, 7)), kind_of(loops(1000, 1100, 7)));
}

}  // namespace
}  // namespace terrace::stencil::test
