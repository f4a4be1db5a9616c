// Tests row operations against the host's bits, their costs against Costs, and refusals.
#include "pim/array.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>

#include "core/error.hpp"

namespace terrace::pim {
namespace {

using Bits = std::vector<bool>;

constexpr Geometry k_small{.rows = 16, .columns = 136, .subarrays = 2, .banks = 3, .devices = 2};

std::vector<Word> packed(const Bits& bits) {
  std::vector<Word> words((bits.size() + 63) / 64);
  for (std::size_t i = 0; i < bits.size(); ++i) words[i / 64] |= Word{bits[i]} << (i % 64);
  return words;
}

struct Rows {
  explicit Rows(const Geometry& geometry = k_small) : array(geometry) {}

  Bits drawn() {
    Bits bits(array.geometry().columns);
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = (random() & 1) != 0;
    return bits;
  }
  Bits written(std::uint32_t row, std::uint32_t subarray = 0) {
    auto bits = drawn();
    array.store({0, subarray, row, 1}, packed(bits));
    return bits;
  }
  std::vector<Word> at(std::uint32_t row, std::uint32_t subarray = 0, std::uint32_t device = 0) {
    return array.load({device, subarray, row, 1});
  }

  std::mt19937_64 random{7};
  Array array;
};

Line row(std::uint32_t n, std::uint32_t subarrays = 1) { return {0, 0, n, subarrays}; }

void expect_refused(const std::function<void()>& call, const std::string& part) {
  try {
    call();
    FAIL() << "not refused; expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

bool gate(Gate which, bool x, bool y) {
  switch (which) {
    case Gate::and_:
      return x && y;
    case Gate::nand:
      return !(x && y);
    case Gate::or_:
      return x || y;
    case Gate::nor:
      return !(x || y);
    case Gate::xor_:
      return x != y;
    case Gate::xnor:
      return x == y;
  }
  return false;
}

TEST(Array, LogicUnderMask_KeepsOtherColumns) {
  for (const auto which : {Gate::and_, Gate::nand, Gate::or_, Gate::nor, Gate::xor_, Gate::xnor})
    for (const int masked : {-1, 0, 1}) {
      Rows rows;
      const auto a = rows.written(0), b = rows.written(1), mask = rows.written(2), before = rows.written(3);
      const auto where = masked < 0 ? std::nullopt : std::optional<Where>({row(2), masked == 1});
      rows.array.logic(which, row(3), row(0), row(1), where);
      auto expected = before;
      for (std::size_t i = 0; i < a.size(); ++i)
        if (masked < 0 || mask[i] == (masked == 1)) expected[i] = gate(which, a[i], b[i]);
      EXPECT_EQ(rows.at(3), packed(expected));
      EXPECT_EQ(rows.at(0), packed(a));
      EXPECT_EQ(rows.at(1), packed(b));
      EXPECT_EQ(rows.at(2), packed(mask));
      EXPECT_EQ(rows.array.cycles().compute, 3 + (masked < 0 ? 0 : 1));
    }
}

TEST(Array, InvertCopyFillUnderMask_KeepOtherColumns) {
  for (const bool value : {false, true}) {
    Rows rows;
    const auto a = rows.written(0), mask = rows.written(1), before = rows.written(2);
    for (const std::uint32_t n : {3, 4, 5}) rows.array.copy(row(n), row(2));
    const Where where{row(1), value};
    rows.array.invert(row(3), row(0), where);
    rows.array.copy(row(4), row(0), where);
    rows.array.fill(row(5), true, where);
    auto inverted = before, copied = before, filled = before;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (mask[i] != value) continue;
      inverted[i] = !a[i];
      copied[i] = a[i];
      filled[i] = true;
    }
    EXPECT_EQ(rows.at(3), packed(inverted));
    EXPECT_EQ(rows.at(4), packed(copied));
    EXPECT_EQ(rows.at(5), packed(filled));
    EXPECT_EQ(rows.array.cycles().compute, 3 * 2 + (3 + 1) + (2 + 1) + (1 + 1));
  }
}

TEST(Array, ShiftByAnyDistance_DropsBitsAtTheEdge) {
  for (const std::uint32_t columns : {64, 128, 136}) {
    auto geometry = k_small;
    geometry.columns = columns;
    for (std::int64_t by = 1 - std::int64_t{columns}; by < columns; ++by) {
      if (by == 0) continue;
      Rows rows(geometry);
      const auto a = rows.written(0);
      rows.array.shift(row(1), row(0), by);
      rows.array.shift(row(0), row(0), by);
      Bits expected(columns);
      for (std::int64_t i = 0; i < columns; ++i)
        if (i - by >= 0 && i - by < columns) expected[i] = a[i - by];
      ASSERT_EQ(rows.at(1), packed(expected)) << by;
      ASSERT_EQ(rows.at(0), packed(expected)) << by;
      ASSERT_EQ(rows.array.cycles().compute, 2 * (3 + (std::abs(by) - 1)));
    }
  }
}

TEST(Array, SeveralSubarrays_RunInLockStep) {
  Rows rows;
  std::vector<Bits> a, b;
  for (std::uint32_t n = 0; n < 6; ++n) a.push_back(rows.written(0, n)), b.push_back(rows.written(1, n));
  const auto before = rows.array.cycles();
  rows.array.logic(Gate::and_, row(2, 5), row(0, 5), row(1, 5));
  EXPECT_EQ((rows.array.cycles() - before).compute, 3);
  for (std::uint32_t n = 0; n < 6; ++n) {
    Bits expected(k_small.columns);
    for (std::size_t i = 0; n < 5 && i < expected.size(); ++i) expected[i] = a[n][i] && b[n][i];
    EXPECT_EQ(rows.at(2, n), packed(expected));
  }
}

TEST(Array, UnwrittenRows_AreZeroAndTakeNoMemory) {
  Rows rows({.rows = 1024, .columns = 65536, .subarrays = 64, .banks = 8, .devices = 64});
  EXPECT_EQ(rows.at(1023, 511, 63), std::vector<Word>(1024));
  EXPECT_EQ(rows.array.written_rows(), 0);
  rows.array.logic(Gate::nor, {63, 510, 1023, 2}, {63, 510, 0, 2}, {63, 510, 1, 2});
  EXPECT_EQ(rows.array.written_rows(), 2);
  EXPECT_EQ(rows.at(1023, 511, 63), std::vector<Word>(1024, ~Word{0}));
}

// 65,536 columns are 32 beats of a 2 Kbit bus, four row cycles at 9 beats in each; and 1024 of 64 bits, eight at
// 146.
TEST(Array, Transfer_CostsBusesAndInterfacesOnItsPath) {
  const auto cost = [](const Line& to, const Line& from) {
    Rows rows({.rows = 8, .columns = 65536, .subarrays = 4, .banks = 2, .devices = 2});
    const auto a = rows.written(from.row, from.subarray + from.subarrays - 1);
    rows.array.transfer(to, from);
    EXPECT_EQ(rows.at(to.row, to.subarray + to.subarrays - 1, to.device), packed(a));
    return rows.array.cycles().copies;
  };
  EXPECT_EQ(cost({0, 1, 0, 1}, {0, 0, 0, 1}), 1 + 4 + 1);
  EXPECT_EQ(cost({0, 4, 0, 1}, {0, 0, 0, 1}), 1 + 4 + 4 + 1);
  EXPECT_EQ(cost({1, 0, 0, 1}, {0, 0, 0, 1}), 1 + 4 + 8 + 8 + 4 + 1);
  EXPECT_EQ(cost({0, 2, 1, 2}, {0, 0, 0, 2}), 1 + 2 * 4 + 1);                   // serial on the bus
  EXPECT_EQ(cost({0, 3, 1, 2}, {0, 2, 0, 2}), 1 + 2 * 4 + 4 + 1);               // one row leaves the bank
  EXPECT_EQ(cost({1, 0, 0, 8}, {0, 0, 0, 8}), 1 + 4 * 4 + 8 * 16 + 4 * 4 + 1);  // two buses, one interface
  Rows rows({.rows = 8, .columns = 65536, .subarrays = 4, .banks = 2});
  rows.written(0);
  EXPECT_EQ(rows.array.cycles(), (Cycles{0, 0, 1 + 4 + 8}));
  rows.array.broadcast({0, 0, 0, 8}, std::vector<Word>(1024, 5));
  EXPECT_EQ(rows.array.cycles(), (Cycles{0, 0, 2 * (1 + 4 + 8)}));
  EXPECT_EQ(rows.at(0, 7), std::vector<Word>(1024, 5));
}

TEST(Array, OtherCosts_AreApplied) {
  Array array(k_small, {.logic = 4, .copy = 1, .mask = 2, .bus_bits = 8, .bus_beats = 1});
  array.logic(Gate::or_, row(0), row(1), row(2), Where{row(3)});
  array.copy(row(0), row(1));
  array.transfer({0, 1, 0, 1}, row(0));
  EXPECT_EQ(array.cycles(), (Cycles{4 + 2 + 1, 1 + 17 + 1, 0}));
  EXPECT_DOUBLE_EQ(time_of(array.costs(), array.cycles()).value, 26 * 45.75e-9);
  expect_refused([] { Array(k_small, {.bus_beats = 0}); }, "bits and 0 beats; set both above 0");
  expect_refused([] { Array({.rows = 1}); }, "banks: there are 0");
}

TEST(Array, UnalignedOrOutsideOperand_Throws) {
  Rows rows;
  auto& array = rows.array;
  expect_refused(
      [&] {
        array.logic(Gate::and_, row(0), row(1), {0, 1, 1, 1});
      },
      "and: an operand is in subarray 1 of device 0, the target in subarray 0 of device 0; copy it");
  expect_refused([&] { array.copy(row(0), {1, 0, 1, 1}); }, "copy it there first");
  expect_refused([&] { array.invert(row(0, 2), row(1)); }, "the target in subarrays 0-1 of device 0");
  expect_refused([&] { array.fill(row(0), true, Where{{0, 3, 0, 1}}); }, "copy it there first");
  expect_refused([&] { array.fill(row(16), true); },
                 "set: row 16 of subarray 0 of device 0 is outside of 2 devices");
  expect_refused([&] { array.fill(row(0, 7), true); }, "subarrays 0-6 of device 0 is outside");
  expect_refused([&] { array.fill(row(0, 0), true); }, "spans 0 subarrays");
  expect_refused([&] { array.shift(row(0), row(1), 0); }, "shift by 0 columns");
  expect_refused([&] { array.shift(row(0), row(1), -136); }, "a subarray has 136");
  expect_refused([&] { array.shift(row(0), row(1), INT64_MIN); }, "a subarray has 136");
  expect_refused([&] { array.transfer(row(0, 2), row(1)); }, "span equally many");
  expect_refused([&] { array.store(row(0), std::vector<Word>(2)); }, "2 words for a row of 3");
  expect_refused([&] { array.store(row(0, 2), std::vector<Word>(3)); }, "one subarray at a time");
  expect_refused([&] { static_cast<void>(array.load(row(0, 2))); }, "one subarray at a time");
  EXPECT_EQ(array.cycles().total(), 0);
  EXPECT_EQ(array.written_rows(), 0);
}

}  // namespace
}  // namespace terrace::pim
