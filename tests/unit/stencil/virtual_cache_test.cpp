// Tests the mode `cache` against caches of single points, and against all possible tiles.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "stencil/plan/tile_plan.hpp"
#include "virtual_chains.hpp"

namespace terrace::stencil::test {
namespace {

// A direct-mapped cache of single points at random sets; counts hits and evictions.
class PointCache {
 public:
  PointCache(const std::vector<DatasetInfo>& infos, std::size_t room, std::uint64_t seed)
      : infos_(infos), sets_(room, k_none) {
    std::size_t points = 0;
    for (const auto& info : infos) {
      first_.push_back(points);
      points += info.range.points();
    }
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<std::size_t> place(0, room - 1);
    for (std::size_t i = 0; i < points; ++i) place_.push_back(place(random));
    is_changed_.resize(points, false);
  }
  // Accesses a loop, or a part of it, row by row and point by point.
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
    const auto& range = infos_[id].range;
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
  std::vector<DatasetInfo> infos_;
  std::vector<std::size_t> first_, place_, sets_;
  std::vector<bool> is_changed_;
  double missed_ = 0, stored_ = 0;
};

// Three datasets that sweep into one another, with boundary layers copied between the sweeps: the mode's misses
// equal those of a cache of single points.
TEST(Cache, Sweeps_MatchPointCache) {
  const Range inner{{0, 150}, {0, 150}}, whole{{-2, 152}, {-2, 152}};
  std::vector<DatasetInfo> infos;
  for (DatasetId id = 0; id < 3; ++id) infos.push_back(dataset(id, whole));
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
    auto made = mode("cache", make_tiers(8.0 * static_cast<double>(room), 1, 1, 1), infos, {false, true, true});
    PointCache points(infos, room, room);
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

// A layer copied in many loops does not keep the rest of the data in the cache.
TEST(Cache, CopiedLayers_RefreshOnlyThemselves) {
  const Range whole{{0, 1000}, {0, 1000}};
  const std::vector<DatasetInfo> infos{dataset(0, whole), dataset(1, whole)};
  Chain chain;
  chain.push_back(loop(whole, {argument(0, Access::read)}));
  chain.push_back(loop(whole, {argument(1, Access::read)}));
  chain.push_back(loop({{0, 1}, {0, 1000}}, {argument(0, Access::read)}));
  const auto tiers = make_tiers(1e6, 1, 1, 1);  // an eighth of a dataset
  auto made = mode("cache", tiers, infos, {false, true, true});
  for (int i = 0; i < 3; ++i) made->run(chain);
  EXPECT_GT(made->counts().bytes_in, 0.999 * made->counts().accesses);
}

// Parts limited by the slow memory and parts that are not alternate: one process takes the sum of both; many
// overlap the slow memory and their loops.
TEST(Cache, SeveralProcesses_OverlapLoopsAndMemory) {
  constexpr std::ptrdiff_t rows = 1000;
  std::vector<DatasetInfo> infos;
  for (DatasetId id = 0; id < 2; ++id) infos.push_back(dataset(id, {{0, 1000}, {0, rows}}));
  Chain chain;
  for (int i = 0; i < 20; ++i) chain.push_back(loop(infos[0].range, {argument(0, Access::read)}));
  const auto tiers = make_tiers(1e6, 1e12, 4e5, 4e6);
  const auto run = [&](double processes) {
    auto made = mode("cache", tiers, infos, {true, true, true, processes});
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

// Returns the misses and stores of a tiled chain in a cache of points; the first chain is not counted.
double moved(const Chain& chain, const std::vector<DatasetInfo>& infos, std::size_t room,
             const std::array<std::ptrdiff_t, k_max_dims>& size) {
  PointCache points(infos, room, room);
  const TilePlan plan(chain, size);
  double before = 0;
  for (int times = 0; times < 2; ++times) {
    before = points.missed() + points.stored();
    std::array<std::size_t, k_max_dims> tile;
    for (tile[2] = 0; tile[2] < plan.tiles()[2]; ++tile[2])
      for (tile[1] = 0; tile[1] < plan.tiles()[1]; ++tile[1])
        for (tile[0] = 0; tile[0] < plan.tiles()[0]; ++tile[0])
          for (std::size_t l = 0; l < chain.size(); ++l) points.run(chain[l], plan.part(l, tile));
  }
  return points.missed() + points.stored() - before;
}

// In three dimensions, a chain with wide stencils reuses more data in columns than in slices if the cache
// cannot hold the overlap of whole planes. Compared with all slices and columns in a cache of points.
TEST(Cache, DeepChain_IsCutInTwoDimensions) {
  const Range whole{{0, 4}, {0, 100}, {0, 100}};
  std::vector<DatasetInfo> infos;
  for (DatasetId id = 0; id < 2; ++id) infos.push_back(dataset(id, whole));
  Chain chain;
  for (DatasetId i = 0; i < 20; ++i)
    chain.push_back(loop({{0, 4}, {1, 99}, {1, 99}}, {argument(i % 2, Access::read, {0, -1, -1}, {0, 1, 1}),
                                                      argument((i + 1) % 2, Access::write)}));
  constexpr std::size_t room = 24000;  // 30 planes of both; the chain reaches 20 further
  auto slices = HUGE_VAL, columns = HUGE_VAL;
  for (std::ptrdiff_t length = 2; length < 100; length += 1 + length / 4) {
    slices = std::min(slices, moved(chain, infos, room, {0, 0, length}));
    columns = std::min(columns, moved(chain, infos, room, {0, length, length}));
  }
  EXPECT_LT(columns, 0.95 * slices);
  // The slow memory dominates the time.
  const auto made = mode("cache", make_tiers(8.0 * room, 1e12, 1e5, 1e12), infos, {});
  made->run(chain);
  const auto first = made->counts();
  made->run(chain);
  const auto ours = (made->counts().bytes_in + made->counts().bytes_out - first.bytes_in - first.bytes_out) / 8;
  EXPECT_LT(ours, 0.95 * slices);
  EXPECT_NEAR(ours / columns, 1, 0.1);
}

}  // namespace
}  // namespace terrace::stencil::test
