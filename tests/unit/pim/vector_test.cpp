// Vectors in the array against the host's arithmetic, in both orientations and many widths; row cycles against
// closed forms.
#include "pim/vector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>

#include "base/error.hpp"

namespace terrace::pim {
namespace {

using Values = std::vector<std::uint64_t>;
using Binary = std::function<std::uint64_t(std::uint64_t, std::uint64_t)>;

constexpr Geometry k_small{.rows = 512, .columns = 72, .subarrays = 2, .banks = 3, .devices = 2};
constexpr Geometry k_paper{.rows = 1024, .columns = 65536, .subarrays = 16, .banks = 8};

std::uint64_t all_of(std::uint32_t bits) { return ~std::uint64_t{0} >> (64 - bits); }

struct Case {
  Geometry geometry;
  std::uint64_t count;
  std::uint32_t bits;
  Dim dim;
  std::uint32_t subarray = 1;

  [[nodiscard]] std::string name() const {
    return describe(geometry) + ", " + std::to_string(count) + " of " + std::to_string(bits) + " bits, " +
           (dim == Dim::vertical ? "vertical" : "horizontal");
  }
};

// Vectors one below the other, with scratch at the bottom.
struct Bench {
  explicit Bench(const Case& which, std::uint32_t seed = 1)
      : shape(which), array(which.geometry), random(seed), alu(array, scratch()) {}

  [[nodiscard]] Block scratch() const {
    const auto rows = scratch_rows(shape.dim);
    return {0, shape.subarray, shape.geometry.rows - rows, {rows, shape.geometry.width() - shape.subarray}};
  }
  Vector vector(std::uint32_t bits = 0) {
    if (bits == 0) bits = shape.bits;
    auto geometry = shape.geometry;
    geometry.banks = 1;  // a shape that fits beside the first subarrays
    geometry.subarrays = shape.geometry.width() - shape.subarray;
    const Block block{0, shape.subarray, next, shape_of_elements(geometry, shape.count, bits, shape.dim)};
    next += block.shape.rows;
    return {block, shape.count, bits, shape.dim, 0};
  }
  Vector mask() { return vector(shape.dim == Dim::vertical ? 1 : shape.bits); }
  Values drawn() {
    Values values(shape.count);
    for (auto& value : values) {
      // Extremes and near equals among them: they carry far.
      const auto kind = random() % 8;
      value = kind == 0 ? 0 : kind == 1 ? all_of(shape.bits) : kind == 2 ? random() % 4 : random();
      value &= all_of(shape.bits);
    }
    return values;
  }
  Vector written(const Values& values) {
    const auto result = vector();
    write(array, result, values);
    return result;
  }

  Case shape;
  Array array;
  std::mt19937_64 random;
  std::uint32_t next = 3;
  Alu alu;
};

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const auto dim : {Dim::vertical, Dim::horizontal})
    for (const std::uint32_t bits : {1, 2, 7, 8, 13, 32, 63, 64}) {
      result.push_back({k_small, 5, bits, dim});
      result.push_back({k_small, 200, bits, dim});
      if (bits <= 32) result.push_back({k_small, 401, bits, dim, 2});  // vertically two layers of four and two
    }
  return result;
}

Values mapped(const Values& a, const Values& b, std::uint32_t bits, const Binary& function) {
  Values result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = function(a[i], b[i]) & all_of(bits);
  return result;
}

// to = f(a, b) with the target apart, at a, at b; and all three the same.
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

void expect_refused(const std::function<void()>& call, const std::string& part) {
  try {
    call();
    FAIL() << "not refused; expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

TEST(Vectors, ReadBackWhatWasWritten) {
  for (const auto& which : cases()) {
    SCOPED_TRACE(which.name());
    Bench bench(which);
    const auto x = bench.drawn(), y = bench.drawn();
    const auto a = bench.written(x), b = bench.written(y);
    EXPECT_EQ(read(bench.array, a), x);
    EXPECT_EQ(read(bench.array, b), y);
  }
}

// Bit by bit where block.hpp and vector.hpp say it lies.
TEST(Vectors, LieWhereTheirLayoutSays) {
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

TEST(Vectors, Logic) {
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

TEST(Vectors, ShiftAndRotate) {
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

TEST(Vectors, AddAndSubtract) {
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

TEST(Vectors, Multiply) {
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

TEST(Vectors, CompareSelectAndCount) {
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
    bench.alu.less(mask, a, b);
    expect_mask(less, y);
    for (const auto k :
         {std::uint64_t{0}, std::uint64_t{2}, x[x.size() / 2], all_of(which.bits), ~std::uint64_t{0}}) {
      const Values same(which.count, k);
      bench.alu.equal(mask, a, k);
      expect_mask(equal, same);
      bench.alu.less(mask, a, k);
      expect_mask(less, same);
    }
    bench.alu.select(b, mask, a, b);  // onto the second operand
    EXPECT_EQ(read(bench.array, b), read(bench.array, to));
  }
}

// A mask as wide as the elements selects bit by bit.
TEST(Vectors, SelectBitByBit) {
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

// Rows of other vectors keep their bits whatever is computed beside them.
TEST(Vectors, LeaveOtherRowsAlone) {
  for (const auto dim : {Dim::vertical, Dim::horizontal}) {
    Bench bench({k_small, 200, 13, dim});
    const auto x = bench.drawn(), y = bench.drawn(), guard = bench.drawn();
    const auto above = bench.written(guard), a = bench.written(x), between = bench.written(guard);
    const auto b = bench.written(y), to = bench.vector(), below = bench.written(guard), mask = bench.mask();
    bench.alu.multiply(to, a, b);
    bench.alu.add(to, to, a);
    bench.alu.less(mask, a, b);
    bench.alu.rotate(to, to, 5);
    for (const auto& kept : {above, between, below}) EXPECT_EQ(read(bench.array, kept), guard);
    EXPECT_EQ(read(bench.array, a), x);
    EXPECT_EQ(read(bench.array, b), y);
  }
}

TEST(Vectors, OfThePapersDevice) {
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

std::uint64_t cycles_of(Bench& bench, const std::function<void()>& run) {
  const auto before = bench.array.cycles();
  run();
  const auto spent = bench.array.cycles() - before;
  EXPECT_EQ(spent.copies, 0);
  return spent.compute;
}

// In closed form, whatever the number of lanes; vertical.hpp states them.
TEST(Vectors, VerticalRowCyclesDependOnTheWidthAlone) {
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
      EXPECT_EQ(of([&] { alu.less(mask, a, b); }), 6 * w + 1);
      EXPECT_EQ(of([&] { alu.equal(mask, a, factor); }), 2 * w + 1);
      EXPECT_EQ(of([&] { alu.less(mask, a, factor); }), 2 * w + 1);
      EXPECT_EQ(of([&] { alu.select(to, mask, a, b); }), 5 * w);
      EXPECT_EQ(of([&] { rotated(a, 1); }), 0);
    }
}

// A row's carries take a step for every bit of its width, each of which shifts twice as far as the one before.
TEST(Vectors, HorizontalAdditionsRowCyclesGrowWithTheFarthestCarry) {
  for (const std::uint32_t w : {1, 2, 8, 13, 64}) {
    Bench bench({k_small, 1, w, Dim::horizontal});
    const auto a = bench.written(bench.drawn()), b = bench.written(bench.drawn()), to = bench.vector();
    std::uint64_t expected = 3 + 3 + 2 + 3 + (3 + 3 + 3);
    for (std::uint32_t d = 1; d < w; d *= 2) expected += (2 + d) + 6 + (2 * d < w ? (2 + d) + 3 : 0);
    expected += w == 1 ? 1 : 0;  // the separating row is all zeros: cleared here, else sent by the host
    EXPECT_EQ(cycles_of(bench, [&] { bench.alu.add(to, a, b); }), expected) << w;
  }
}

// More layers cost as many times more; more subarrays side by side nothing.
TEST(Vectors, LayersCostWhereSubarraysDoNot) {
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
TEST(Vectors, CopiesCostByDistance) {
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
  EXPECT_EQ(cost(0, 2), (Cost{0, (2 + 2 + 2) * rows}));          // two rows out of one bank, into another
  EXPECT_EQ(cost(0, 1), (Cost{0, (2 + 2 + 1) * rows}));          // half stays in the bank
  EXPECT_EQ(cost(1, 0), (Cost{0, (2 + 2 + 2 + 2 * 2) * rows}));  // over both interfaces, row after row
}

TEST(Vectors, RefuseWhatDoesNotMatchInOneLine) {
  Bench bench({k_small, 100, 8, Dim::vertical});
  const auto a = bench.written(bench.drawn()), to = bench.vector(), narrow = bench.vector(7), mask = bench.mask();
  auto& alu = bench.alu;
  auto elsewhere = a, shifted = a, fewer = a, outside = a, along = a;
  elsewhere.block.subarray = 3;
  shifted.block.row += 4;
  fewer.count = 99;
  outside.block.row = 510;
  along.dim = Dim::horizontal;
  expect_refused([&] { alu.add(to, a, elsewhere); }, "bring it there first");
  expect_refused([&] { alu.add(shifted, a, to); }, "overlaps the operand at row 3");
  expect_refused([&] { alu.add(to, a, fewer); }, "operands differ: 99 vertical of 8 bits, 100 vertical of 8 bits");
  expect_refused([&] { alu.add(to, a, along); }, "operands differ");
  expect_refused([&] { alu.add(to, a, narrow); }, "operands differ");
  expect_refused([&] { alu.add(to, a, outside); }, "the block lies outside of 2 devices");
  expect_refused([&] { alu.logic(Gate::and_, to, to, rotated(to, 1)); }, "overlaps");
  expect_refused([&] { alu.multiply(to, to, a); }, "it must lie apart");
  expect_refused([&] { alu.select(to, mask, to, a); }, "it must lie apart");
  expect_refused([&] { alu.less(to, a, a); }, "a mask of 8 bits");
  expect_refused([&] { alu.rotate(to, a, 8); }, "rotation by 8");
  expect_refused([&] { rotated(along, 1); }, "only vertical");
  expect_refused([&] { write(bench.array, a, Values(3)); }, "3 values for 100 vertical elements of 8 bits");
  expect_refused([&] { copied(bench.array, a, {0, 0, 0, {16, 1}}); }, "need as many where they are copied to");
  expect_refused([&] { copied(bench.array, a, {0, 0, 0, {7, 2}}); }, "do not fit into 7 rows");
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
