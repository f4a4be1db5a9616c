// What a cache still has, by the last accesses: against each point's own.
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

// The same, with a moment for each point.
class Points {
 public:
  explicit Points(double room) : room_(room) {}
  std::vector<LastAccesses::Found> access(const std::vector<LastAccesses::Touch>& touches) {
    std::vector<LastAccesses::Found> all;
    for (const auto& touch : touches) all.push_back(find(touch));
    ++now_;
    for (const auto& [id, reached, written] : touches)
      for_each(reached, [&](const Point& point) {
        all_[{id, point}] = {now_, written.contains(point) && !written.empty()};
      });
    return all;
  }

 private:
  struct Last {
    int moment = 0;
    bool is_changed = false;
  };
  [[nodiscard]] LastAccesses::Found find(const LastAccesses::Touch& touch) const {
    double lost = 0, stored = 0;
    for_each(touch.reached, [&](const Point& point) {
      const auto found = all_.find({touch.dataset, point});
      auto gone = 1.0;
      if (found != all_.end()) {
        double since = 0;
        for (const auto& [other, last] : all_) since += last.moment >= found->second.moment ? k_bytes : 0;
        gone = 1 - std::exp(-since / room_);
        stored += found->second.is_changed ? gone : 0;
      }
      lost += gone;
    });
    const auto points = static_cast<double>(touch.reached.points());
    return {lost / points, stored / points};
  }
  template <class Action>
  static void for_each(const Range& range, Action action) {
    for (auto z = range.begin[2]; z < range.end[2]; ++z)
      for (auto y = range.begin[1]; y < range.end[1]; ++y)
        for (auto x = range.begin[0]; x < range.end[0]; ++x) action(Point{x, y, z});
  }
  double room_;
  int now_ = 0;
  std::map<std::pair<DatasetId, Point>, Last> all_;
};

class RandomRanges {
 public:
  explicit RandomRanges(std::uint64_t seed) : random_(seed) {}
  std::ptrdiff_t number(std::ptrdiff_t low, std::ptrdiff_t high) {
    return std::uniform_int_distribution(low, high)(random_);
  }
  // Within another; often the whole of it, or a layer.
  Range in(const Range& all) {
    auto range = all;
    for (std::size_t d = 0; d < k_most_dims; ++d) {
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

void compare(double room, bool is_stored) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomRanges random(seed);
    const Range all({-1, -2, 0}, {random.number(1, 6), random.number(1, 6), random.number(1, 4)});
    LastAccesses ours(room);
    Points truth(room);
    for (DatasetId id = 0; id < 3; ++id) ours.add(dataset(id, all));
    for (int i = 0; i < 60; ++i) {
      std::vector<LastAccesses::Touch> touches;
      for (DatasetId id = 0; id < 3; ++id) {
        const auto reached = random.in(all);
        if (random.number(0, 1) == 0)
          touches.push_back({id, reached, random.number(0, 1) == 0 ? k_nowhere : random.in(reached)});
      }
      const auto found = ours.access(touches), right = truth.access(touches);
      for (std::size_t t = 0; t < touches.size(); ++t) {
        ASSERT_NEAR(found[t].lost, right[t].lost, 1e-9) << "access " << i;
        ASSERT_NEAR(found[t].stored, is_stored ? right[t].stored : found[t].stored, 1e-9) << "access " << i;
      }
    }
  }
}

TEST(LastAccesses, WhatIsLostIsThatOfEachPoint) { compare(500, false); }

// Of pieces that only partly differ from the slow memory the share alone is kept; where all is lost none do.
TEST(LastAccesses, WhatWasWrittenIsStoredWhenItIsLost) { compare(1e-3, true); }

TEST(LastAccesses, ManyAccessesKeepTheirOrder) {
  // More than there are moments at a time: two halves in turns, and a third that is used at the ends alone.
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
