// Tests that blobs round-trip and are never read past their end, and CRC-32C against RFC 3720's vectors.
#include "core/blob.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace terrace {
namespace {

std::vector<std::byte> bytes_of(std::size_t n, auto value_at) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(value_at(i));
  return bytes;
}

TEST(Crc32c, Rfc3720Vectors_Match) {
  EXPECT_EQ(crc32c(bytes_of(32, [](std::size_t) { return 0; })), 0x8a9136aau);
  EXPECT_EQ(crc32c(bytes_of(32, [](std::size_t) { return 0xff; })), 0x62a8ab43u);
  EXPECT_EQ(crc32c(bytes_of(32, [](std::size_t i) { return i; })), 0x46dd794eu);
  EXPECT_EQ(crc32c(bytes_of(32, [](std::size_t i) { return 31 - i; })), 0x113fdb5cu);
  EXPECT_EQ(crc32c({}), 0u);
}

// Computes the definition bit by bit, which the fast versions must equal at every length and alignment.
std::uint32_t by_definition(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const auto byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x82f63b78u : crc >> 1;
  }
  return ~crc;
}

TEST(Crc32c, RandomBytes_EqualDefinitionAndContinueFromSeed) {
  std::mt19937 random(3);
  const auto bytes = bytes_of(300, [&](std::size_t) { return random() & 0xff; });
  const std::span<const std::byte> all(bytes);
  for (std::size_t from = 0; from < 9; ++from) {
    for (std::size_t n = 0; n <= 200; ++n) {
      const auto part = all.subspan(from, n);
      ASSERT_EQ(crc32c(part), by_definition(part)) << from << " " << n;
      ASSERT_EQ(crc32c_by_table(part), by_definition(part)) << from << " " << n;
      ASSERT_EQ(crc32c(part.subspan(n / 3), crc32c(part.first(n / 3))), crc32c(part));
    }
  }
}

enum class Color : std::uint16_t { red = 7 };

TEST(Blob, RoundTrip_EqualsInput) {
  BlobWriter out;
  out.put(std::uint8_t{5});
  out.put(-1.5);
  out.put(Color::red);
  out.put(std::string_view("two\0parts", 9));
  out.put(std::string_view(""));
  out.put(std::int64_t{-3});
  EXPECT_EQ(out.bytes().size(), 1u + 8 + 2 + 4 + 9 + 4 + 8);  // no padding
  BlobReader in(out.bytes());
  EXPECT_EQ(in.get<std::uint8_t>(), 5);
  EXPECT_EQ(in.get<double>(), -1.5);
  EXPECT_EQ(in.get<Color>(), Color::red);
  EXPECT_EQ(in.get_string(), std::string("two\0parts", 9));
  EXPECT_EQ(in.get_string(), "");
  EXPECT_EQ(in.get<std::int64_t>(), -3);
  EXPECT_TRUE(in.at_end());
}

TEST(Blob, TruncatedBytes_Throw) {
  BlobWriter out;
  out.put(std::string_view("four"));
  for (std::size_t n = 0; n < out.bytes().size(); ++n) {
    BlobReader in(out.bytes().first(n));
    try {
      in.get_string();
      FAIL() << "read a string from " << n << " of its bytes";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::corrupt);
    }
  }
}

}  // namespace
}  // namespace terrace
