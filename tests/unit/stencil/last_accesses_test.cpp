// Tests LastAccesses against caches of single points.
#include "stencil/virtual/last_accesses.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "virtual_chains.hpp"

namespace terrace::stencil::test {
namespace {

constexpr double k_bytes = 8;  // of a point

// A direct-mapped cache of points at random sets.
class PlacedPoints {
 public:
  PlacedPoints(std::size_t room, std::uint64_t seed) : random_(seed), who_(room, nullptr) {}
  // Returns, for each touch, the number of missing points, and of points stored since their last touch.
  std::vector<LastAccesses::Found> access(const std::vector<LastAccesses::Touch>& touches) {
    std::vector<LastAccesses::Found> all;
    for (const auto& touch : touches) {
      all.emplace_back();
      for_each(touch.reached, [&](const Point& at) {
        auto& point = point_of({touch.dataset, at});
        auto*& who = who_[point.place];
        if (who != &point) {
          all.back().lost += 1;
          if (who && who->is_changed) {
            who->is_changed = false;
            who->is_stored = true;
          }
          who = &point;
        }
        all.back().stored += point.is_stored ? 1 : 0;
        point.is_stored = false;
        if (!touch.written.empty() && touch.written.contains(at)) point.is_changed = true;
      });
    }
    return all;
  }

 private:
  struct Placed {
    std::size_t place;
    bool is_changed = false;
    bool is_stored = false;
  };
  Placed& point_of(const std::pair<DatasetId, Point>& id) {
    const auto [found, is_new] = points_.try_emplace(id);
    if (is_new) found->second.place = std::uniform_int_distribution<std::size_t>(0, who_.size() - 1)(random_);
    return found->second;
  }
  template <class Action>
  static void for_each(const Range& range, Action action) {
    for (auto z = range.begin[2]; z < range.end[2]; ++z)
      for (auto y = range.begin[1]; y < range.end[1]; ++y)
        for (auto x = range.begin[0]; x < range.end[0]; ++x) action(Point{x, y, z});
  }
  std::mt19937_64 random_;
  std::map<std::pair<DatasetId, Point>, Placed> points_;
  std::vector<Placed*> who_;
};

class RandomRanges {
 public:
  explicit RandomRanges(std::uint64_t seed) : random_(seed) {}
  std::ptrdiff_t number(std::ptrdiff_t low, std::ptrdiff_t high) {
    return std::uniform_int_distribution(low, high)(random_);
  }
  // Returns a random range within another; often all of it, or one layer.
  Range in(const Range& all) {
    auto range = all;
    for (std::size_t d = 0; d < k_max_dims; ++d) {
      const auto kind = number(0, 3);
      if (kind < 2 || all.length(d) == 1) continue;
      range.begin[d] = number(all.begin[d], all.end[d] - 1);
      range.end[d] = kind == 2 ? range.begin[d] + 1 : number(range.begin[d] + 1, all.end[d]);
    }
    return range;
  }

 private:
  std::mt19937_64 random_;
};

// Averages misses and stores over many caches with random addresses.
TEST(LastAccesses, RandomTouches_MatchPointCaches) {
  constexpr int caches = 300, accesses = 60;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomRanges random(seed);
    const auto all = Range::from_to({-1, -2, 0}, {random.number(3, 6), random.number(3, 6), random.number(2, 4)});
    const auto room = static_cast<std::size_t>(random.number(1, 8)) * all.points() / 2;
    std::vector<std::vector<LastAccesses::Touch>> program(accesses);
    for (auto& touches : program)
      for (DatasetId id = 0; id < 3; ++id) {
        const auto reached = random.in(all);
        if (random.number(0, 1) == 0)
          touches.push_back({id, reached, random.number(0, 1) == 0 ? k_nowhere : random.in(reached)});
      }
    std::vector<std::vector<LastAccesses::Found>> truth(accesses);
    for (int c = 0; c < caches; ++c) {
      PlacedPoints points(room, static_cast<std::uint64_t>(c));
      for (int i = 0; i < accesses; ++i) {
        const auto found = points.access(program[i]);
        truth[i].resize(found.size());
        for (std::size_t t = 0; t < found.size(); ++t) {
          truth[i][t].lost += found[t].lost / caches;
          truth[i][t].stored += found[t].stored / caches;
        }
      }
    }
    LastAccesses ours(k_bytes * static_cast<double>(room));
    for (DatasetId id = 0; id < 3; ++id) ours.add(dataset(id, all));
    double lost = 0, true_lost = 0, stored = 0, true_stored = 0, points = 0;
    for (int i = 0; i < accesses; ++i) {
      const auto found = ours.access(program[i]);
      for (std::size_t t = 0; t < found.size(); ++t) {
        const auto count = static_cast<double>(program[i][t].reached.points());
        points += count;
        lost += found[t].lost * count;
        stored += found[t].stored * count;
        true_lost += truth[i][t].lost;
        true_stored += truth[i][t].stored;
      }
    }
    // Pieces of different age in one sweep get one averaged moment.
    EXPECT_NEAR(lost / points, true_lost / points, 0.02);
    // The model keeps only the dirty fraction of partly written ranges, so it stores somewhat less.
    EXPECT_NEAR(stored / points, true_stored / points, 0.025);
    EXPECT_GT(true_lost / points, 0.3);
  }
}

TEST(LastAccesses, ManyAccesses_KeepOrderWhenRenumbered) {
  // More accesses than moments: two halves alternate, and a third is used only at the ends.
  LastAccesses ours(100);
  const Range all{{0, 4}};
  for (DatasetId id = 0; id < 3; ++id) ours.add(dataset(id, all));
  const auto lost = [&](DatasetId id) {
    return ours.access(std::vector{LastAccesses::Touch{id, all, all}})[0].lost;
  };
  EXPECT_EQ(lost(2), 1);
  for (int i = 0; i < 200000; ++i) {
    const auto found = lost(static_cast<DatasetId>(i % 2));
    ASSERT_NEAR(found, i > 1 ? 1 - std::exp(-0.64) : 1, 1e-9);
  }
  EXPECT_NEAR(lost(2), 1 - std::exp(-0.96), 1e-9);
}

}  // namespace
}  // namespace terrace::stencil::test
