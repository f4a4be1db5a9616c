// Tests Boxes against one bit for each point, and chain uses against point-by-point evaluation of loops.
#include "stencil/plan/boxes.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "points.hpp"
#include "random_chain.hpp"
#include "stencil/plan/chain_use.hpp"

namespace terrace::stencil::test {
namespace {

using Bits = OfPoints<char>;

const Range k_all{{-3, 5}, {-2, 6}, {-4, 3}};

class RandomRanges {
 public:
  explicit RandomRanges(std::uint64_t seed) : random_(seed) {}
  // Returns a random range within k_all, sometimes an empty one.
  Range next() {
    Range range;
    for (std::size_t d = 0; d < k_max_dims; ++d) {
      range.begin[d] = number(k_all.begin[d], k_all.end[d]);
      range.end[d] = number(range.begin[d] - (number(0, 9) == 0 ? 1 : 0), k_all.end[d]);
    }
    return range;
  }
  std::ptrdiff_t number(std::ptrdiff_t low, std::ptrdiff_t high) {
    return std::uniform_int_distribution(low, high)(random_);
  }

 private:
  std::mt19937_64 random_;
};

// Checks that the boxes cover exactly these points, each once.
void expect_points(const std::vector<Range>& boxes, const Bits& wanted) {
  OfPoints<int> found(wanted.range());
  for (const auto& box : boxes) {
    EXPECT_FALSE(box.empty());
    ASSERT_TRUE(wanted.range().contains(box));
    for_points(box, [&](const Point& p) { ++found.at(p); });
  }
  for_points(wanted.range(),
             [&](const Point& p) { EXPECT_EQ(found.at(p), wanted.at(p)) << p[0] << ' ' << p[1] << ' ' << p[2]; });
}

TEST(Boxes, RangeSets_MatchOneBitPerPoint) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomRanges ranges(seed);
    Boxes boxes;
    Bits bits(k_all);
    const auto additions = ranges.number(0, 9);
    for (std::ptrdiff_t i = 0; i < additions; ++i) {
      const auto range = ranges.next();
      boxes.add(range);
      for_points(range, [&](const Point& p) { bits.at(p) = 1; });
      ASSERT_NO_FATAL_FAILURE(expect_points(boxes.all(), bits));
    }
    for (int i = 0; i < 20; ++i) {
      const auto range = ranges.next();
      Bits missing(k_all);
      std::uint64_t points = 0, absent = 0;
      for_points(range, [&](const Point& p) {
        ++points;
        absent += missing.at(p) = bits.at(p) == 0;
      });
      ASSERT_NO_FATAL_FAILURE(expect_points(boxes.missing(range), missing));
      EXPECT_EQ(boxes.covers(range), absent == 0);
      EXPECT_EQ(boxes.touches(range), absent < points);
    }
  }
}

TEST(ChainUse, Loops_MatchPointByPointUse) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomMaker maker(seed);
    const auto program = maker.make();
    const auto chain = chain_of(program);
    const auto uses = uses_of(chain);
    for (DatasetId dataset = 0; dataset < program.halos.size(); ++dataset) {
      const auto range = range_of(program, dataset);
      Bits written(range), needed(range);
      auto is_used = false;
      for (const auto& loop : chain) {
        for (const auto& argument : loop.arguments) {
          if (argument.dataset != dataset) continue;
          is_used = true;
          // A loop reads only values from before it: no other point reads what it writes.
          if (reads(argument.access))
            for_points(loop.range, [&](const Point& p) {
              for (const auto& offset : argument.stencil.offsets()) {
                const auto at = moved(p, offset);
                if (!written.at(at)) needed.at(at) = 1;
              }
            });
          if (writes(argument.access)) for_points(loop.range, [&](const Point& p) { written.at(p) = 1; });
        }
      }
      ASSERT_EQ(uses.contains(dataset), is_used);
      if (!is_used) continue;
      ASSERT_NO_FATAL_FAILURE(expect_points(uses.at(dataset).written.all(), written));
      ASSERT_NO_FATAL_FAILURE(expect_points(uses.at(dataset).needed.all(), needed));
    }
  }
}

}  // namespace
}  // namespace terrace::stencil::test
