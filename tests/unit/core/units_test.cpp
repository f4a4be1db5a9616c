// Tests that user notation is parsed to the value that it denotes, and that formatted values parse back.
#include "core/units.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/error.hpp"

namespace terrace {
namespace {

TEST(ParseBytes, IecAndSiUnits_AreAccepted) {
  EXPECT_EQ(parse_bytes("64MiB").value, 67108864u);
  EXPECT_EQ(parse_bytes("1.5GiB").value, 1610612736u);
  EXPECT_EQ(parse_bytes("200MB").value, 200000000u);
  EXPECT_EQ(parse_bytes("4096").value, 4096u);
  EXPECT_EQ(parse_bytes("4096B").value, 4096u);
  EXPECT_EQ(parse_bytes("4G").value, 4294967296u);
  EXPECT_EQ(parse_bytes("4k").value, 4096u);
  EXPECT_EQ(parse_bytes("4gb").value, 4000000000u);
  EXPECT_EQ(parse_bytes("4gib").value, 4294967296u);
  EXPECT_EQ(parse_bytes("1 TiB").value, 1099511627776u);
  EXPECT_EQ(parse_bytes("0").value, 0u);
}

TEST(ParseBytes, LargeIntegers_AreExact) {
  EXPECT_EQ(parse_bytes("9007199254740993").value, 9007199254740993u);  // 2^53 + 1
  EXPECT_EQ(parse_bytes("18446744073709551615B").value, 18446744073709551615u);
}

TEST(ParseBytes, InvalidText_ThrowsWithExample) {
  for (const char* text : {"", "GiB", "16GHz", "16 gi", "-1MiB", "1..5GiB", "1.5.GiB", ".", "0x10", "16GB/s",
                           "nan", "18446744073709551616", "20000PiB", "1e3", "16GiB ", " 16GiB"}) {
    try {
      parse_bytes(text);
      FAIL() << "accepted '" << text << "'";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid);
      EXPECT_EQ(std::string(error.what()),
                "'" + std::string(text) + "' is not a size; write for example 16GiB, 64MiB or 200MB");
    }
  }
}

TEST(ParseSeconds, Decimal_IsNearestDouble) {
  EXPECT_EQ(parse_seconds("86ns").value, 86e-9);
  EXPECT_EQ(parse_seconds("0.25ns").value, 0.25e-9);
  EXPECT_EQ(parse_seconds("250ps").value, 0.25e-9);
  EXPECT_EQ(parse_seconds("1.5us").value, 1.5e-6);
  EXPECT_EQ(parse_seconds("2ms").value, 2e-3);
  EXPECT_EQ(parse_seconds("3s").value, 3.0);
  EXPECT_THROW(parse_seconds("3"), Error);
  EXPECT_THROW(parse_seconds("3 minutes"), Error);
}

TEST(ParseBandwidth, IecAndSiUnits_AreAccepted) {
  EXPECT_EQ(parse_bandwidth("16GB/s").value, 16e9);
  EXPECT_EQ(parse_bandwidth("2000MB/s").value, 2e9);
  EXPECT_EQ(parse_bandwidth("15GiB/s").value, 15.0 * 1073741824.0);
  EXPECT_THROW(parse_bandwidth("16GHz"), Error);
  EXPECT_THROW(parse_bandwidth("16GB"), Error);
}

TEST(ParseFrequency, Units_AreAccepted) {
  EXPECT_EQ(parse_frequency("2.4GHz"), 2.4e9);
  EXPECT_EQ(parse_frequency("1300MHz"), 1.3e9);
  EXPECT_THROW(parse_frequency("16GB/s"), Error);
  EXPECT_EQ(format_exact_frequency(2.4e9), "2.4GHz");
}

TEST(Format, Values_AreReadable) {
  EXPECT_EQ(format(Bytes{67108864}), "64MiB");
  EXPECT_EQ(format(Bytes{1536ull << 20}), "1536MiB");
  EXPECT_EQ(format(Bytes{1567704064}), "1.46GiB");
  EXPECT_EQ(format(Bytes{0}), "0B");
  EXPECT_EQ(format(Bytes{1000}), "1000B");
  EXPECT_EQ(format(Bytes{(1ull << 30) - 1}), "1024MiB");
  EXPECT_EQ(format(Bytes{1048576 + 10485}), "1.01MiB");
  EXPECT_EQ(format(Bytes{1048576 + 524289}), "1.5MiB");
  EXPECT_EQ(format(Bytes{10 * 1048576 - 1}), "10MiB");
  EXPECT_EQ(format(Bytes{12 * 1048576 + 1048577 / 3}), "12.3MiB");
  EXPECT_EQ(format(Bytes{999 * 1048576 + 1048000}), "1000MiB");
  EXPECT_EQ(format(Bytes{~0ull}), "16384PiB");
  EXPECT_EQ(format(Seconds{86e-9}), "86ns");
  EXPECT_EQ(format(Seconds{1.2449}), "1.24s");
  EXPECT_EQ(format(Seconds{0.9999}), "1s");
  EXPECT_EQ(format(Seconds{12345}), "12345s");
  EXPECT_EQ(format(Seconds{-0.0015}), "-1.5ms");
  EXPECT_EQ(format(Seconds{0}), "0s");
  EXPECT_EQ(format(BytesPerSecond{16e9}), "16GB/s");
  EXPECT_EQ(format(BytesPerSecond{2e9}), "2GB/s");
  EXPECT_EQ(format(BytesPerSecond{999.9e6}), "1GB/s");
}

TEST(FormatExact, RandomValues_RoundTrip) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100000; ++i) {
    const Bytes bytes{random() >> (random() % 64)};
    ASSERT_EQ(parse_bytes(format_exact(bytes)), bytes) << format_exact(bytes);
    // Any double from 1e-21 to 1e21, beyond the range of all units.
    const double value = std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 100) - 110);
    ASSERT_EQ(parse_seconds(format_exact(Seconds{value})).value, value) << format_exact(Seconds{value});
    ASSERT_EQ(parse_bandwidth(format_exact(BytesPerSecond{value})).value, value);
  }
  EXPECT_EQ(format_exact(Seconds{86e-9}), "86ns");
  EXPECT_EQ(format_exact(Seconds{0.25e-9}), "250ps");
  EXPECT_EQ(format_exact(BytesPerSecond{15.36e9}), "15.36GB/s");
  EXPECT_EQ(format_exact(Bytes{200000001}), "200000001B");
  EXPECT_EQ(format_exact(Bytes{1000000}), "1MB");
  EXPECT_EQ(format_exact(Bytes{16000000000}), "16GB");
  EXPECT_EQ(format_exact(Bytes{16ull << 30}), "16GiB");
  EXPECT_EQ(format_exact(Bytes{1536ull << 20}), "1536MiB");
  EXPECT_EQ(format_exact(Bytes{4096000}), "4000KiB");
  EXPECT_EQ(format_exact(Bytes{0}), "0B");
  // User notation is formatted as it was written.
  for (const char* text : {"1kB", "640KiB", "200MB", "64MiB", "3GB", "16GiB", "1TB", "2TiB", "999B", "18PB"})
    EXPECT_EQ(format_exact(parse_bytes(text)), text);
}

}  // namespace
}  // namespace terrace
