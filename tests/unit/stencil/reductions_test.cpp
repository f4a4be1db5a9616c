// Tests minimum, maximum and sum of every executor and row length against a plain loop.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "terrace/stencil.hpp"

namespace terrace::stencil {
namespace {

struct Results {
  double least = INFINITY;
  float most = -std::numeric_limits<float>::infinity();
  std::int32_t last = std::numeric_limits<std::int32_t>::max();
};

// Few distinct values, some of them NaN, and zeros of both signs.
double number_at(std::ptrdiff_t x, std::ptrdiff_t y, unsigned seed) {
  constexpr double k_values[] = {0.0, -0.0, 2.5, 7.0, -1.25, std::numeric_limits<double>::quiet_NaN(), 0.5, 3.0};
  std::minstd_rand random(seed + static_cast<unsigned>(131 * x + 7919 * y));
  random.discard(3);
  // For most seeds no value is negative.
  const auto value = k_values[random() % 8];
  return seed % 3 != 0 && value < 0 ? 0.0 * value : value;
}

class Rows : public testing::TestWithParam<const char*> {};

TEST_P(Rows, AnyLength_GivesMinimumMaximumAndSum) {
  for (std::ptrdiff_t length = 1; length < 140; length += length < 70 ? 1 : 9) {
    const auto seed = static_cast<unsigned>(length);
    Context context(Options{.executor = GetParam(), .threads = 2, .tile = {48, 2, 0}});
    const auto block = context.block("block", {length, 3});
    auto u = block.dataset<double>("u");
    auto copy = block.dataset<double>("copy");
    block.loop(
        "numbers", block.range(), [seed](auto u, auto at) { u() = number_at(at[0], at[1], seed); }, write(u),
        index());
    auto least = context.minimum<double>();
    auto most = context.maximum<float>();
    auto last = context.minimum<std::int32_t>();
    block.loop(
        "extremes", block.range(),
        [](auto copy, auto u, auto at, auto least, auto most, auto last) {
          copy() = u() + 1;
          least(u());
          most(static_cast<float>(2 * u()));
          last(static_cast<std::int32_t>(at[1] - at[0]));
        },
        write(copy), read(u), index(), into(least), into(most), into(last));
    Results expected;
    for (std::ptrdiff_t y = 0; y < 3; ++y)
      for (std::ptrdiff_t x = 0; x < length; ++x) {
        const auto value = number_at(x, y, seed);
        if (value < expected.least) expected.least = value;
        if (static_cast<float>(2 * value) > expected.most) expected.most = static_cast<float>(2 * value);
        expected.last = std::min(expected.last, static_cast<std::int32_t>(y - x));
      }
    const auto found = least.value();
    EXPECT_EQ(found, expected.least) << length;
    EXPECT_TRUE(found != 0 || !std::signbit(found)) << "a zero has one sign, whatever the order; " << length;
    EXPECT_EQ(most.value(), expected.most) << length;
    EXPECT_EQ(last.value(), expected.last) << length;
    const auto copied = copy.get(block.range());
    for (std::ptrdiff_t x = 0; x < length; ++x) {
      const auto value = number_at(x, 1, seed) + 1;
      const auto got = copied[static_cast<std::size_t>(length + x)];
      EXPECT_TRUE(got == value || (std::isnan(got) && std::isnan(value))) << length << ": " << x;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Executors, Rows, testing::Values("serial", "parallel", "tiled"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace terrace::stencil
