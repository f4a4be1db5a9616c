// Tests whole programs on the array, results bitwise against the host, and costs.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <string>

#include "core/error.hpp"
#include "workloads/pim/axpy.hpp"
#include "workloads/pim/bitmap_join.hpp"
#include "workloads/pim/histogram.hpp"
#include "workloads/pim/sha1.hpp"

namespace terrace::pim {
namespace {

using Values = std::vector<std::uint64_t>;

constexpr Geometry k_small{.rows = 1024, .columns = 200, .subarrays = 4, .banks = 2, .devices = 2};
constexpr Geometry k_paper{.rows = 1024, .columns = 65536, .subarrays = 16, .banks = 8, .devices = 2};

// Allocates consecutive rows that begin in one subarray.
struct Stack {
  std::uint32_t device = 0, subarray = 0, row = 0;

  Block operator()(const Shape& shape) {
    const Block block{device, subarray, row, shape};
    row += shape.rows;
    return block;
  }
};

struct Home {
  explicit Home(const Geometry& geometry) : array(geometry) {}

  Vector written(Stack& rows, const Values& values, std::uint32_t bits, Dim dim) {
    auto bank = array.geometry();
    bank.banks = bank.devices = 1;
    bank.subarrays = 2;
    const Vector vector{rows(shape_of_elements(bank, values.size(), bits, dim)), values.size(), bits, dim, 0};
    write(array, vector, values);
    return vector;
  }
  Values drawn(std::size_t count, std::uint64_t below = 0) {
    Values values(count);
    for (auto& value : values) value = below == 0 ? random() : random() % below;
    return values;
  }
  Blocks blocks() {
    return [this](const Shape& shape) { return stack(shape); };
  }

  Array array;
  Stack stack;
  std::mt19937_64 random{11};
};

void expect_axpy(const Geometry& geometry, std::size_t count, Dim dim, std::uint64_t q) {
  for (const auto& [device, subarray] : {std::pair{0u, 0u}, {0u, 2u}, {0u, geometry.subarrays}, {1u, 0u}}) {
    Home home(geometry);
    Stack elsewhere{device, subarray, 3};
    auto& from = device == 0 && subarray == 0 ? home.stack : elsewhere;
    const auto x = home.drawn(count), y = home.drawn(count);
    const auto r = home.written(home.stack, Values(count), 64, dim);
    const auto a = home.written(from, x, 64, dim), b = home.written(from, y, 64, dim);
    axpy(home.array, r, q, a, b, home.blocks());
    Values expected(count);
    for (std::size_t i = 0; i < count; ++i) expected[i] = q * x[i] + y[i];
    EXPECT_EQ(read(home.array, r), expected);
    EXPECT_EQ(read(home.array, a), x);
    EXPECT_EQ(read(home.array, b), y);
    axpy(home.array, r, q, a, r, home.blocks());  // R = Q * A + R
    for (std::size_t i = 0; i < count; ++i) expected[i] += q * x[i];
    EXPECT_EQ(read(home.array, r), expected);
  }
}

TEST(Axpy, AnyPlacement_MatchesHost) {
  for (const auto dim : {Dim::vertical, Dim::horizontal})
    for (const std::uint64_t q : {0x0ull, 0x3ull, 0x9E37'79B9'7F4A'7C15ull}) expect_axpy(k_small, 333, dim, q);
  expect_axpy(k_paper, 65536 + 777, Dim::vertical, 0x9E37'79B9'7F4A'7C15);
  expect_axpy(k_paper, 3000, Dim::horizontal, 0x8001);
}

TEST(Axpy, RowCount_IsReportedAndMismatchThrows) {
  Home home(k_small);
  const auto values = home.drawn(100);
  const auto a = home.written(home.stack, values, 32, Dim::vertical);
  const auto r = home.written(home.stack, values, 32, Dim::vertical);
  const auto narrow = home.written(home.stack, values, 16, Dim::vertical);
  EXPECT_EQ(axpy(home.array, r, 3, a, r, home.blocks()).rows, 2 * 32 + 2);
  EXPECT_THROW(axpy(home.array, r, 3, a, narrow, home.blocks()), Error);
  EXPECT_THROW(axpy(home.array, r, 3, r, a, home.blocks()), Error);
}

// 64-bit AXPY on two subarrays' worth of the paper's columns, by factors of 32 set bits and of one: the sums cost
// the same at every distance, the copies 128 rows at the distance's price (array_test).
TEST(Axpy, Misplacement_CostsTheCopies) {
  for (const std::uint64_t q : {0x5555'5555'5555'5555ull, 0x1ull}) {
    const auto cost = misplaced_axpy(k_paper, {}, 2 * 65536, 64, Dim::vertical, q);
    std::uint64_t sums = 0;
    for (std::uint32_t i = 0; i < 64; ++i)
      if (((q >> i) & 1) != 0) sums += 9 * (64 - i) + 1;
    // With operands together, B is copied to R within the subarray; else the transfer places it there.
    EXPECT_EQ(cost.together, (Cycles{2 * 64 + sums, 0, 0}));
    EXPECT_EQ(cost.other_subarray, (Cycles{sums, 128 * (1 + 2 * 4 + 1), 0}));
    EXPECT_EQ(cost.other_bank, (Cycles{sums, 128 * (1 + 2 * 4 + 2 * 4 + 1), 0}));
    EXPECT_EQ(cost.other_device, (Cycles{sums, 128 * (1 + 2 * 4 + 2 * 16 + 2 * 4 + 1), 0}));
  }
  const auto along = misplaced_axpy(k_paper, {}, 5 * 1024, 64, Dim::horizontal, 3);
  EXPECT_LT(along.together.total(), along.other_subarray.total());
  EXPECT_LT(along.other_subarray.total(), along.other_bank.total());
  EXPECT_LT(along.other_bank.total(), along.other_device.total());
  EXPECT_THROW(
      misplaced_axpy({.rows = 1024, .columns = 64, .subarrays = 4, .banks = 2}, {}, 10, 64, Dim::vertical, 3),
      Error);
}

std::string hex(const Sha1Digest& digest) {
  std::string text;
  for (const auto byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::vector<std::string> hashed(const Geometry& geometry, const std::vector<std::string>& messages) {
  Home home(geometry);
  const std::vector<std::string_view> views(messages.begin(), messages.end());
  std::vector<std::string> result;
  for (const auto& digest : sha1(home.array, views, home.blocks()).digests) result.push_back(hex(digest));
  return result;
}

// FIPS 180-4's examples (NIST, "Examples with intermediate values") and the empty message.
TEST(Sha1, PublishedMessages_GivePublishedDigests) {
  EXPECT_EQ(hashed(k_small, {"abc", "", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"}),
            (std::vector<std::string>{"a9993e364706816aba3e25717850c26c9cd0d89d",
                                      "da39a3ee5e6b4b0d3255bfef95601890afd80709",
                                      "84983e441c3bd26ebaae4aa1f95129e5e54670f1"}));
}

std::string message(std::uint32_t n, std::uint32_t length) {
  std::string text;
  for (std::uint32_t i = 0; i < length; ++i) text += static_cast<char>((n * 31 + i * 7 + (n >> 8)) % 256);
  return text;
}

// Host reference of SHA-1, as FIPS 180-4 states it.
std::string on_host(std::string text) {
  const auto bits = std::uint64_t{text.size()} * 8;
  text += '\x80';
  while (text.size() % 64 != 56) text += '\0';
  for (int i = 7; i >= 0; --i) text += static_cast<char>(bits >> (8 * i));
  std::uint32_t h[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  for (std::size_t at = 0; at < text.size(); at += 64) {
    std::uint32_t w[80];
    for (std::size_t t = 0; t < 16; ++t) {
      w[t] = 0;
      for (std::size_t i = 0; i < 4; ++i) w[t] = (w[t] << 8) | static_cast<std::uint8_t>(text[at + 4 * t + i]);
    }
    for (std::size_t t = 16; t < 80; ++t) w[t] = std::rotl(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    auto [a, b, c, d, e] = h;
    for (std::size_t t = 0; t < 80; ++t) {
      const auto f = t < 20   ? (b & c) ^ (~b & d)
                     : t < 40 ? b ^ c ^ d
                     : t < 60 ? (b & c) ^ (b & d) ^ (c & d)
                              : b ^ c ^ d;
      const auto k = t < 20 ? 0x5A827999u : t < 40 ? 0x6ED9EBA1u : t < 60 ? 0x8F1BBCDCu : 0xCA62C1D6u;
      const auto next = std::rotl(a, 5) + f + e + k + w[t];
      e = d, d = c, c = std::rotl(b, 30), b = a, a = next;
    }
    h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e;
  }
  Sha1Digest digest;
  for (std::size_t i = 0; i < 20; ++i) digest[i] = static_cast<std::uint8_t>(h[i / 4] >> (24 - 8 * (i % 4)));
  return hex(digest);
}

// Validates the host reference, which the next test relies on, against digests of Python's hashlib.
TEST(Sha1, HostReference_MatchesHashlib) {
  EXPECT_EQ(on_host("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(on_host(message(5, 55)), "e5038786741222f79d2d3dbeedb37057d9c2471b");
  EXPECT_EQ(on_host(message(5, 64)), "607cd684e9269ee51221df864480869c0829b286");
  EXPECT_EQ(on_host(message(5, 200)), "617ca4015a9442c8e777c85b3c64f0d063a2b909");
}

TEST(Sha1, MessagesOfEveryLength_MatchHost) {
  std::vector<std::string> messages, expected;
  for (std::uint32_t n = 0; n < 450; ++n) {  // three subarrays, the last one partly used
    messages.push_back(message(n, n * 7 % 190));
    expected.push_back(on_host(messages.back()));
  }
  EXPECT_EQ(hashed(k_small, messages), expected);
}

// One message of a block in every column of a subarray. By vertical.hpp, for words of 32 bits: four additions a
// round, one of them of a constant; the functions of 5, 6, 8 and 6 row cycles a bit; three gates a word of the
// schedule; the hash set, copied and added up.
TEST(Sha1, FullSubarray_CostsClosedForm) {
  Home home(k_paper);
  std::vector<std::string> texts;
  for (std::uint32_t n = 0; n < k_paper.columns; ++n) texts.push_back(message(n, n % 56));
  const std::vector<std::string_view> messages(texts.begin(), texts.end());
  const auto batch = sha1(home.array, messages, home.blocks());
  for (std::uint32_t n = 0; n < k_paper.columns; ++n) ASSERT_EQ(hex(batch.digests[n]), on_host(texts[n])) << n;
  const std::uint64_t add = 9 * 32 + 1, add_constant = 6 * 32 + 1;
  const std::uint64_t rounds = 80 * (3 * add + add_constant) + 20 * 32 * (5 + 6 + 8 + 6) + 64 * 9 * 32;
  EXPECT_EQ(batch.report.cycles.compute, rounds + 5 * (32 + 2 * 32 + add));
  EXPECT_EQ(batch.report.cycles.host, (16 + 5) * 32 * (1 + 4 + 8));
  EXPECT_EQ(batch.report.cycles.copies, 0);
  EXPECT_EQ(batch.report.rows, k_sha1_rows);
  EXPECT_LE(k_sha1_rows, k_paper.rows);
}

TEST(Sha1, TooSmallBlock_Throws) {
  Home home({.rows = k_sha1_rows - 1, .columns = 64, .subarrays = 1, .banks = 1});
  const std::vector<std::string_view> one{"abc"};
  EXPECT_THROW(sha1(home.array, one, home.blocks()), Error);
  Home narrow({.rows = 1024, .columns = 64, .subarrays = 1, .banks = 1});
  const std::vector<std::string_view> many(65, "abc");
  EXPECT_THROW(sha1(narrow.array, many, narrow.blocks()), Error);
  EXPECT_THROW(sha1(narrow.array, {}, narrow.blocks()), Error);
  const Blocks stingy = [](const Shape&) { return Block{0, 0, 0, {10, 1}}; };
  EXPECT_THROW(sha1(narrow.array, one, stingy), Error);
}

TEST(Histogram, BothOrientations_MatchHost) {
  for (const auto dim : {Dim::vertical, Dim::horizontal})
    for (const std::uint32_t bits : {8, 13, 64}) {
      Home home(k_small);
      auto values = home.drawn(700, bits < 64 ? std::uint64_t{1} << bits : 0);
      const auto vector = home.written(home.stack, values, bits, dim);
      const auto top = ~std::uint64_t{0} >> (64 - bits);
      const Values edges{0, 1, top / 5, top / 5, top / 2, top - top / 7, bits < 64 ? top + 1 : top};
      const auto result = histogram(home.array, vector, edges, home.blocks());
      ASSERT_EQ(result.counts.size() + 1, edges.size());
      for (std::size_t i = 0; i + 1 < edges.size(); ++i)
        EXPECT_EQ(result.counts[i],
                  std::ranges::count_if(values, [&](auto v) { return edges[i] <= v && v < edges[i + 1]; }))
            << i;
      EXPECT_EQ(read(home.array, vector), values);
    }
}

TEST(Histogram, Cost_IsOneComparisonPerEdge) {
  Home home(k_small);
  const auto vector = home.written(home.stack, home.drawn(200, 256), 8, Dim::vertical);
  const auto result = histogram(home.array, vector, Values{0, 10, 20, 200}, home.blocks());
  EXPECT_EQ(result.report.cycles.compute, 4 * (2 * 8 + 1));
  EXPECT_EQ(result.report.cycles.host, 4 * (1 + 1 + 1));  // a mask of one row each
  EXPECT_EQ(result.report.rows, 8 + 2 + 1);
  EXPECT_THROW(histogram(home.array, vector, Values{1}, home.blocks()), Error);
  EXPECT_THROW(histogram(home.array, vector, Values{2, 1}, home.blocks()), Error);
}

// Tests against nested loops over the tables.
TEST(BitmapJoin, RandomTables_MatchNestedLoops) {
  for (const auto dim : {Dim::vertical, Dim::horizontal}) {
    Home home(k_small);
    const std::size_t facts = dim == Dim::vertical ? 1500 : 700;
    const auto dates = home.drawn(facts, 365), shops = home.drawn(facts, 40), goods = home.drawn(facts, 4096);
    Stack elsewhere{1, 2, 5};
    std::vector<Dimension> dimensions(3);
    dimensions[0].foreign_keys = home.written(home.stack, dates, 12, dim);
    dimensions[1].foreign_keys = home.written(home.stack, shops, 12, dim);
    // copied to the other operands' subarrays
    dimensions[2].foreign_keys = home.written(elsewhere, goods, 12, dim);
    for (std::uint64_t key = 365; key-- > 90;) dimensions[0].keys.push_back(key);
    dimensions[1].keys = {0, 1, 2, 7, 3, 3, 39, 12, 20};
    for (std::uint64_t key = 0; key < 4096; ++key)
      if (key % 64 > 5) dimensions[2].keys.push_back(key);  // up to the maximum key
    const auto joined = bitmap_join(home.array, dimensions, home.blocks());

    const std::vector<const Values*> columns{&dates, &shops, &goods};
    Values expected;
    for (std::uint64_t row = 0; row < facts; ++row) {
      bool all = true;
      for (std::size_t d = 0; d < 3; ++d) {
        bool some = false;
        for (const auto key : dimensions[d].keys) some = some || (*columns[d])[row] == key;
        all = all && some;
      }
      if (all) expected.push_back(row);
    }
    ASSERT_FALSE(expected.empty());
    EXPECT_EQ(joined.rows, expected);
    EXPECT_GT(joined.report.cycles.copies, 0);
  }
}

TEST(BitmapJoin, ExtremeAndEmptyKeyRanges_MatchNestedLoops) {
  Home home(k_small);
  const Values keys{0, 1, ~0ull, 5, ~0ull - 1, 1ull << 63};
  const auto column = home.written(home.stack, keys, 64, Dim::vertical);
  const auto rows = [&](const Values& chosen) {
    const std::vector<Dimension> dimensions{{column, chosen}};
    return bitmap_join(home.array, dimensions, home.blocks()).rows;
  };
  EXPECT_EQ(rows({}), Values{});
  EXPECT_EQ(rows({0}), Values{0});
  EXPECT_EQ(rows({~0ull, ~0ull - 1}), (Values{2, 4}));
  EXPECT_EQ(rows({~0ull, 1, 0}), (Values{0, 1, 2}));
  EXPECT_THROW(bitmap_join(home.array, {}, home.blocks()), Error);
}

}  // namespace
}  // namespace terrace::pim
