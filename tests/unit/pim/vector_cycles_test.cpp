// Tests the row cycles of vector operations against closed forms.
#include <gtest/gtest.h>

#include <functional>

#include "vector_bench.hpp"

namespace terrace::pim {
namespace {

using namespace testing;

std::uint64_t cycles_of(Bench& bench, const std::function<void()>& run) {
  const auto before = bench.array.cycles();
  run();
  const auto spent = bench.array.cycles() - before;
  EXPECT_EQ(spent.copies, 0);
  return spent.compute;
}

// Costs are independent of the number of lanes; vertical.hpp states the closed forms.
TEST(VectorCycles, VerticalOperation_CostsClosedFormOfWidth) {
  for (const std::uint64_t lanes : {1, 70, 300})
    for (const std::uint32_t w : {1, 8, 13, 64}) {
      Bench bench({k_small, lanes, w, Dim::vertical});
      const auto a = bench.written(bench.drawn()), b = bench.written(bench.drawn()), to = bench.vector();
      const auto mask = bench.mask();
      auto& alu = bench.alu;
      const auto of = [&](const std::function<void()>& run) { return cycles_of(bench, run); };
      const std::uint64_t factor = 0b1011 & all_of(w);
      const auto multiple = [&] {
        std::uint64_t sum = 0;
        for (std::uint32_t i = 0; i < 64; ++i)
          if (((factor >> i) & 1) != 0) sum += 9 * (w - i) + 1;
        return sum;
      }();
      EXPECT_EQ(of([&] { alu.logic(Gate::xor_, to, a, b); }), 3 * w);
      EXPECT_EQ(of([&] { alu.invert(to, a); }), 3 * w);
      EXPECT_EQ(of([&] { alu.copy(to, a); }), 2 * w);
      EXPECT_EQ(of([&] { alu.fill(to, 5); }), w);
      EXPECT_EQ(of([&] { alu.shift(to, a, 1); }), 2 * (w - 1) + 1);
      EXPECT_EQ(of([&] { alu.add(to, a, b); }), 9 * w + 1);
      EXPECT_EQ(of([&] { alu.add(to, a, 5); }), 6 * w + 1);
      EXPECT_EQ(of([&] { alu.subtract(to, a, b); }), 9 * w + 1);
      EXPECT_EQ(of([&] { alu.subtract(b, a, b); }), 10 * w + 1);
      EXPECT_EQ(of([&] { alu.multiply(to, a, b); }), 3 * w + (w - 1) + 5 * w * (w - 1));
      EXPECT_EQ(of([&] { alu.add_multiple(to, a, factor); }), multiple);
      EXPECT_EQ(of([&] { alu.equal(mask, a, b); }), 5 * w + 1);
      EXPECT_EQ(of([&] { alu.compare_lt(mask, a, b); }), 6 * w + 1);
      EXPECT_EQ(of([&] { alu.equal(mask, a, factor); }), 2 * w + 1);
      EXPECT_EQ(of([&] { alu.compare_lt(mask, a, factor); }), 2 * w + 1);
      EXPECT_EQ(of([&] { alu.select(to, mask, a, b); }), 5 * w);
      EXPECT_EQ(of([&] { rotated(a, 1); }), 0);
    }
}

// The parallel prefix takes a step for every bit of the width's logarithm; each shifts twice as far as the
// last.
TEST(VectorCycles, HorizontalAddition_CostGrowsWithLongestCarry) {
  for (const std::uint32_t w : {1, 2, 8, 13, 64}) {
    Bench bench({k_small, 1, w, Dim::horizontal});
    const auto a = bench.written(bench.drawn()), b = bench.written(bench.drawn()), to = bench.vector();
    std::uint64_t expected = 3 + 3 + 2 + 3 + (3 + 3 + 3);
    for (std::uint32_t d = 1; d < w; d *= 2) expected += (2 + d) + 6 + (2 * d < w ? (2 + d) + 3 : 0);
    expected += w == 1 ? 1 : 0;  // the separating row is all zeros: cleared here, else sent by the host
    EXPECT_EQ(cycles_of(bench, [&] { bench.alu.add(to, a, b); }), expected) << w;
  }
}

// The cost is proportional to the number of layers and independent of the number of subarrays.
TEST(VectorCycles, MoreLayers_CostMoreThanMoreSubarrays) {
  const auto cycles = [](std::uint64_t count) {
    Bench bench({k_small, count, 16, Dim::vertical});
    const auto a = bench.written(bench.drawn()), b = bench.written(bench.drawn()), to = bench.vector();
    return cycles_of(bench, [&] { bench.alu.add(to, a, b); });
  };
  EXPECT_EQ(cycles(72), cycles(5 * 72));
  EXPECT_EQ(cycles(5 * 72 + 1), 2 * cycles(5 * 72));
}

// Row cycles of each copy of a 13-bit vector that fills two subarrays, by Costs: a row of 72 columns is one beat
// of the bus, two of the interface, both less than a row cycle.
TEST(VectorCycles, Copy_CostsByDistance) {
  const std::uint32_t rows = 13;
  const auto cost = [&](std::uint32_t device, std::uint32_t subarray) {
    Bench bench({k_small, 144, rows, Dim::vertical, 0});
    const auto x = bench.drawn();
    const auto a = bench.written(x);
    const auto before = bench.array.cycles();
    const auto copy = copied(bench.array, a, {device, subarray, 100, {rows, 2}});
    const auto spent = bench.array.cycles() - before;
    EXPECT_EQ(read(bench.array, copy), x);
    EXPECT_EQ(spent.host, 0);
    return std::pair{spent.compute, spent.copies};
  };
  using Cost = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(cost(0, 0), (Cost{2 * rows, 0}));                    // within the subarray
  EXPECT_EQ(cost(0, 2), (Cost{0, (2 + 2 + 2) * rows}));          // two rows, from one bank to another
  EXPECT_EQ(cost(0, 1), (Cost{0, (2 + 2 + 1) * rows}));          // half stays in the bank
  EXPECT_EQ(cost(1, 0), (Cost{0, (2 + 2 + 2 + 2 * 2) * rows}));  // over both interfaces, row after row
}

}  // namespace
}  // namespace terrace::pim
