// Tests vectors in the array against the host's arithmetic, in both orientations and many widths.
#include "pim/vector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "vector_bench.hpp"

namespace terrace::pim {
namespace {

using namespace testing;
using Binary = std::function<std::uint64_t(std::uint64_t, std::uint64_t)>;

Values mapped(const Values& a, const Values& b, std::uint32_t bits, const Binary& function) {
  Values result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = function(a[i], b[i]) & all_of(bits);
  return result;
}

// Tests to = f(a, b) with a separate target, with to == a, with to == b, and with all three equal.
void expect_binary(const Case& which, const Binary& truth,
                   const std::function<void(Alu&, const Vector&, const Vector&, const Vector&)>& run,
                   bool in_place = true) {
  SCOPED_TRACE(which.name());
  Bench bench(which);
  const auto x = bench.drawn();
  auto y = bench.drawn();
  for (std::size_t i = 0; i < y.size(); i += 5) y[i] = x[i];
  const auto a = bench.written(x), b = bench.written(y), to = bench.vector();
  const auto expected = mapped(x, y, which.bits, truth);
  run(bench.alu, to, a, b);
  EXPECT_EQ(read(bench.array, to), expected);
  EXPECT_EQ(read(bench.array, a), x);
  EXPECT_EQ(read(bench.array, b), y);
  run(bench.alu, to, a, a);
  EXPECT_EQ(read(bench.array, to), mapped(x, x, which.bits, truth));
  if (!in_place) return;
  run(bench.alu, a, a, b);
  EXPECT_EQ(read(bench.array, a), expected);
  write(bench.array, a, x);
  run(bench.alu, b, a, b);
  EXPECT_EQ(read(bench.array, b), expected);
  run(bench.alu, a, a, a);
  EXPECT_EQ(read(bench.array, a), mapped(x, x, which.bits, truth));
}

void expect_unary(const Case& which, const std::function<std::uint64_t(std::uint64_t)>& truth,
                  const std::function<void(Alu&, const Vector&, const Vector&)>& run, bool in_place = true) {
  SCOPED_TRACE(which.name());
  Bench bench(which);
  const auto x = bench.drawn();
  const auto a = bench.written(x), to = bench.vector();
  const auto expected = mapped(x, x, which.bits, [&](auto value, auto) { return truth(value); });
  run(bench.alu, to, a);
  EXPECT_EQ(read(bench.array, to), expected);
  EXPECT_EQ(read(bench.array, a), x);
  if (!in_place) return;
  run(bench.alu, a, a);
  EXPECT_EQ(read(bench.array, a), expected);
}

TEST(Vectors, WriteThenRead_ReturnsValues) {
  for (const auto& which : cases()) {
    SCOPED_TRACE(which.name());
    Bench bench(which);
    const auto x = bench.drawn(), y = bench.drawn();
    const auto a = bench.written(x), b = bench.written(y);
    EXPECT_EQ(read(bench.array, a), x);
    EXPECT_EQ(read(bench.array, b), y);
  }
}

// Checks the location of each bit against block.hpp and vector.hpp.
TEST(Vectors, Elements_LieWhereLayoutStates) {
  for (const auto& which : cases()) {
    SCOPED_TRACE(which.name());
    Bench bench(which);
    const auto x = bench.drawn();
    const auto a = bench.written(x);
    for (std::uint64_t e = 0; e < which.count; e += 3)
      for (std::uint32_t i = 0; i < which.bits; ++i) {
        const bool down = which.dim == Dim::vertical;
        const std::uint64_t per_lane = down ? which.geometry.columns : which.geometry.columns / which.bits;
        const std::uint64_t lane = e / per_lane, side = a.block.shape.subarrays;
        const auto row = a.block.row + (lane / side) * (down ? which.bits : 1) + (down ? i : 0);
        const auto column = down ? e % per_lane : e % per_lane * which.bits + i;
        const auto bits = bench.array.load(
            {0, a.block.subarray + static_cast<std::uint32_t>(lane % side), static_cast<std::uint32_t>(row), 1});
        ASSERT_EQ((bits[column / 64] >> (column % 64)) & 1, (x[e] >> i) & 1) << e << " " << i;
      }
  }
}

TEST(Vectors, Logic_MatchesHost) {
  const std::pair<Gate, Binary> gates[] = {
      {Gate::and_, [](auto x, auto y) { return x & y; }},   {Gate::or_, [](auto x, auto y) { return x | y; }},
      {Gate::xor_, [](auto x, auto y) { return x ^ y; }},   {Gate::nand, [](auto x, auto y) { return ~(x & y); }},
      {Gate::nor, [](auto x, auto y) { return ~(x | y); }}, {Gate::xnor, [](auto x, auto y) { return ~(x ^ y); }}};
  for (const auto& which : cases()) {
    for (const auto& [gate, truth] : gates)
      expect_binary(which, truth, [g = gate](auto& alu, auto& to, auto& a, auto& b) { alu.logic(g, to, a, b); });
    expect_unary(
        which, [](auto x) { return ~x; }, [](auto& alu, auto& to, auto& a) { alu.invert(to, a); });
    expect_unary(
        which, [](auto x) { return x; }, [](auto& alu, auto& to, auto& a) { alu.copy(to, a); });
    expect_unary(
        which, [](auto) { return 0xC3A5'0F1E'7796'1234; },
        [](auto& alu, auto& to, auto&) { alu.fill(to, 0xC3A5'0F1E'7796'1234); });
  }
}

TEST(Vectors, ShiftAndRotate_MatchHost) {
  for (const auto& which : cases())
    for (const std::int64_t by : {0, 1, 3, 7, 12, 31, 33, 63, 64, 1000}) {
      expect_unary(
          which, [by](auto x) { return by < 64 ? x << by : 0; },
          [by](auto& alu, auto& to, auto& a) { alu.shift(to, a, by); });
      expect_unary(
          which, [by](auto x) { return by < 64 ? x >> by : 0; },
          [by](auto& alu, auto& to, auto& a) { alu.shift(to, a, -by); });
      const auto turn = static_cast<std::uint32_t>(by) % which.bits;
      const auto truth = [&](std::uint64_t x) { return turn == 0 ? x : (x << turn) | (x >> (which.bits - turn)); };
      expect_unary(which, truth, [turn](auto& alu, auto& to, auto& a) { alu.rotate(to, a, turn); });
      if (which.dim == Dim::vertical)
        expect_unary(
            which, truth, [turn](auto& alu, auto& to, auto& a) { alu.copy(to, rotated(a, turn)); }, false);
    }
}

TEST(Vectors, AddAndSubtract_MatchHost) {
  for (const auto& which : cases()) {
    expect_binary(
        which, [](auto x, auto y) { return x + y; },
        [](auto& alu, auto& to, auto& a, auto& b) { alu.add(to, a, b); });
    expect_binary(
        which, [](auto x, auto y) { return x - y; },
        [](auto& alu, auto& to, auto& a, auto& b) { alu.subtract(to, a, b); });
    for (const std::uint64_t k : {0ull, 1ull, 0x5A827999ull, ~0ull, 0x8000'0000'0000'0000ull})
      expect_unary(
          which, [k](auto x) { return x + k; }, [k](auto& alu, auto& to, auto& a) { alu.add(to, a, k); });
  }
}

TEST(Vectors, Multiply_MatchesHost) {
  for (const auto& which : cases()) {
    expect_binary(
        which, [](auto x, auto y) { return x * y; },
        [](auto& alu, auto& to, auto& a, auto& b) { alu.multiply(to, a, b); }, false);
    for (const std::uint64_t k : {0ull, 1ull, 6ull, 0x1234'5678'9ABC'DEF1ull, ~0ull, 1ull << 63}) {
      expect_unary(
          which, [k](auto x) { return x * k; }, [k](auto& alu, auto& to, auto& a) { alu.multiply(to, a, k); },
          false);
      expect_unary(
          which, [k](auto x) { return x * k + 77; },
          [k](auto& alu, auto& to, auto& a) {
            alu.fill(to, 77);
            alu.add_multiple(to, a, k);
          },
          false);
    }
  }
}

TEST(Vectors, CompareSelectCount_MatchHost) {
  for (const auto& which : cases()) {
    SCOPED_TRACE(which.name());
    Bench bench(which);
    const auto x = bench.drawn();
    auto y = bench.drawn();
    for (std::size_t i = 0; i < y.size(); i += 2) y[i] = i % 4 == 0 ? x[i] : x[i] ^ 1;
    const auto a = bench.written(x), b = bench.written(y), to = bench.vector();
    const auto mask = bench.mask();
    const auto expect_mask = [&](const Binary& truth, const Values& second) {
      const auto set = all_of(mask.bits);
      const auto expected = mapped(x, second, 64, [&](auto v, auto w) { return truth(v, w) != 0 ? set : 0; });
      EXPECT_EQ(read(bench.array, mask), expected);
      EXPECT_EQ(count(bench.array, mask), std::ranges::count(expected, set));
      bench.alu.select(to, mask, a, b);
      const auto chosen = mapped(expected, x, 64, [](auto m, auto v) { return m != 0 ? v : 0; });
      const auto other = mapped(expected, y, 64, [](auto m, auto v) { return m != 0 ? 0 : v; });
      EXPECT_EQ(read(bench.array, to), mapped(chosen, other, 64, [](auto v, auto w) { return v | w; }));
    };
    const Binary equal = [](auto v, auto w) { return v == w ? 1 : 0; },
                 less = [](auto v, auto w) { return v < w; };
    bench.alu.equal(mask, a, b);
    expect_mask(equal, y);
    bench.alu.compare_lt(mask, a, b);
    expect_mask(less, y);
    for (const auto k :
         {std::uint64_t{0}, std::uint64_t{2}, x[x.size() / 2], all_of(which.bits), ~std::uint64_t{0}}) {
      const Values same(which.count, k);
      bench.alu.equal(mask, a, k);
      expect_mask(equal, same);
      bench.alu.compare_lt(mask, a, k);
      expect_mask(less, same);
    }
    bench.alu.select(b, mask, a, b);  // onto the second operand
    EXPECT_EQ(read(bench.array, b), read(bench.array, to));
  }
}

// A mask as wide as the elements selects bit by bit.
TEST(Vectors, BitMask_SelectsBitByBit) {
  for (const auto& which : cases()) {
    SCOPED_TRACE(which.name());
    Bench bench(which);
    const auto x = bench.drawn(), y = bench.drawn(), m = bench.drawn();
    const auto a = bench.written(x), b = bench.written(y), mask = bench.written(m), to = bench.vector();
    bench.alu.select(to, mask, a, b);
    const auto got = read(bench.array, to);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(got[i], (x[i] & m[i]) | (y[i] & ~m[i]));
  }
}

// Operations must not change rows of other vectors.
TEST(Vectors, Operations_KeepRowsOfOtherVectors) {
  for (const auto dim : {Dim::vertical, Dim::horizontal}) {
    Bench bench({k_small, 200, 13, dim});
    const auto x = bench.drawn(), y = bench.drawn(), guard = bench.drawn();
    const auto above = bench.written(guard), a = bench.written(x), between = bench.written(guard);
    const auto b = bench.written(y), to = bench.vector(), below = bench.written(guard), mask = bench.mask();
    bench.alu.multiply(to, a, b);
    bench.alu.add(to, to, a);
    bench.alu.compare_lt(mask, a, b);
    bench.alu.rotate(to, to, 5);
    for (const auto& kept : {above, between, below}) EXPECT_EQ(read(bench.array, kept), guard);
    EXPECT_EQ(read(bench.array, a), x);
    EXPECT_EQ(read(bench.array, b), y);
  }
}

TEST(Vectors, DeviceOfThePaper_Works) {
  for (const auto dim : {Dim::vertical, Dim::horizontal}) {
    const Case which{k_paper, 65536 + 4321, 32, dim};
    expect_binary(
        which, [](auto x, auto y) { return x + y; },
        [](auto& alu, auto& to, auto& a, auto& b) { alu.add(to, a, b); });
    expect_binary(
        which, [](auto x, auto y) { return x * y; },
        [](auto& alu, auto& to, auto& a, auto& b) { alu.multiply(to, a, b); }, false);
  }
}

TEST(Vectors, MismatchedOperands_ThrowOneLine) {
  Bench bench({k_small, 100, 8, Dim::vertical});
  const auto a = bench.written(bench.drawn()), to = bench.vector(), narrow = bench.vector(7), mask = bench.mask();
  auto& alu = bench.alu;
  auto elsewhere = a, shifted = a, fewer = a, outside = a, along = a;
  elsewhere.block.subarray = 3;
  shifted.block.row += 4;
  fewer.count = 99;
  outside.block.row = 510;
  along.dim = Dim::horizontal;
  expect_refused([&] { alu.add(to, a, elsewhere); }, "copy it there first");
  expect_refused([&] { alu.add(shifted, a, to); }, "overlaps the operand at row 3");
  expect_refused([&] { alu.add(to, a, fewer); }, "operands differ: 99 vertical of 8 bits, 100 vertical of 8 bits");
  expect_refused([&] { alu.add(to, a, along); }, "operands differ");
  expect_refused([&] { alu.add(to, a, narrow); }, "operands differ");
  expect_refused([&] { alu.add(to, a, outside); }, "the block is outside of 2 devices");
  expect_refused([&] { alu.logic(Gate::and_, to, to, rotated(to, 1)); }, "overlaps");
  expect_refused([&] { alu.multiply(to, to, a); }, "it must lie apart");
  expect_refused([&] { alu.select(to, mask, to, a); }, "it must lie apart");
  expect_refused([&] { alu.compare_lt(to, a, a); }, "a mask of 8 bits");
  expect_refused([&] { alu.rotate(to, a, 8); }, "rotation by 8");
  expect_refused([&] { rotated(along, 1); }, "only vertical");
  expect_refused([&] { write(bench.array, a, Values(3)); }, "3 values for 100 vertical elements of 8 bits");
  expect_refused(
      [&] {
        copied(bench.array, a, {0, 0, 0, {16, 1}});
      },
      "but the target block has 1; pass one with equally many");
  expect_refused([&] { copied(bench.array, a, {0, 0, 0, {7, 2}}); }, "do not fit into 7 rows");
  expect_refused(
      [&] {
        copied(bench.array, a, {0, 1, a.block.row + 4, {8, 2}});
      },
      "overlaps the vector that is copied");
  Alu poor(bench.array, {0, 1, 500, {1, 2}});
  expect_refused([&] { poor.add(to, a, a); }, "scratch of 1 rows");
  Alu over(bench.array, {0, 1, a.block.row, {2, 2}});
  expect_refused([&] { over.add(to, a, a); }, "the scratch rows overlap");
  auto none = a;
  none.count = 0;
  expect_refused([&] { check(k_small, none); }, "at least one");
}

}  // namespace
}  // namespace terrace::pim
