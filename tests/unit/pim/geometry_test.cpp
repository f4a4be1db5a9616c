#include "pim/geometry.hpp"

#include <gtest/gtest.h>

#include <random>

#include "core/error.hpp"
#include "pim/block.hpp"

namespace terrace::pim {
namespace {

constexpr Geometry k_paper{1024, 65536, 16, 8, 1};

TEST(Geometry, DeviceOfTheStudy_HasOneGibibyte) {
  EXPECT_EQ(k_paper.capacity(), Bytes{1 << 30});
  EXPECT_EQ(k_paper.row_bytes(), Bytes{8192});
  EXPECT_EQ(describe(k_paper), "1 device x 8 banks x 16 subarrays x 1024 rows x 65536 columns");
}

TEST(Geometry, LinearBit_RoundTripsThroughAddress) {
  const Geometry small{3, 8, 2, 2, 2};
  std::vector<Address> all;
  for (std::uint64_t bit = 0; bit < 3 * 8 * 2 * 2 * 2; ++bit) {
    const auto address = address_of(small, bit);
    EXPECT_EQ(linear_bit(small, address), bit);
    all.push_back(address);
  }
  EXPECT_EQ(all.back(), (Address{1, 1, 1, 2, 7}));
  EXPECT_THROW(address_of(small, 3 * 8 * 2 * 2 * 2), Error);
  EXPECT_THROW(linear_bit(small, {0, 2, 0, 0, 0}), Error);
  std::mt19937_64 dice(1);
  for (int i = 0; i < 1000; ++i) {
    const auto bit = dice() % (8 * k_paper.capacity().value);
    EXPECT_EQ(linear_bit(k_paper, address_of(k_paper, bit)), bit);
  }
}

TEST(Geometry, InvalidDimension_Throws) {
  for (const auto& geometry :
       {Geometry{0, 8, 1, 1, 1}, Geometry{1, 0, 1, 1, 1}, Geometry{1, 8, 0, 1, 1}, Geometry{1, 8, 1, 0, 1},
        Geometry{1, 8, 1, 1, 0}, Geometry{1, 12, 1, 1, 1}, Geometry{1, 8, 65537, 1, 1},
        Geometry{0xffffffff, 8, 2, 1, 1}, Geometry{1024, 8, 0xffffffff, 0xffffffff, 0xffffffff}})
    EXPECT_THROW(check(geometry), Error) << describe(geometry);
  check(Geometry{1U << 16, 8, 1U << 16, 1, 1});
}

TEST(Shape, Bytes_GiveMinimalRectangle) {
  const auto horizontal = [](std::uint64_t bytes) { return shape_of(k_paper, Bytes{bytes}, Dim::horizontal); };
  const auto vertical = [](std::uint64_t bytes) { return shape_of(k_paper, Bytes{bytes}, Dim::vertical); };
  EXPECT_EQ(horizontal(1), (Shape{1, 1}));
  EXPECT_EQ(horizontal(8193), (Shape{1, 2}));
  EXPECT_EQ(horizontal(1 << 20), (Shape{1, 128}));
  EXPECT_EQ(horizontal((1 << 20) + 1), (Shape{2, 65}));
  EXPECT_EQ(horizontal(1 << 30), (Shape{1024, 128}));
  EXPECT_EQ(vertical(1), (Shape{1, 1}));
  EXPECT_EQ(vertical(8193), (Shape{2, 1}));
  EXPECT_EQ(vertical(8 << 20), (Shape{1024, 1}));
  EXPECT_EQ(vertical((8 << 20) + 1), (Shape{513, 2}));
  for (const auto bytes : {std::uint64_t{0}, (std::uint64_t{1} << 30) + 1, ~std::uint64_t{0}}) {
    EXPECT_THROW(horizontal(bytes), Error);
    EXPECT_THROW(vertical(bytes), Error);
  }
}

TEST(Shape, Elements_DoNotCrossSubarrays) {
  const auto of = [](std::uint64_t count, std::uint32_t bits, Dim dim) {
    return shape_of_elements(k_paper, count, bits, dim);
  };
  EXPECT_EQ(of(1, 64, Dim::vertical), (Shape{64, 1}));
  EXPECT_EQ(of(65536, 64, Dim::vertical), (Shape{64, 1}));
  EXPECT_EQ(of(65537, 64, Dim::vertical), (Shape{64, 2}));
  EXPECT_EQ(of(128 * 65536 + 1, 64, Dim::vertical), (Shape{128, 65}));
  EXPECT_EQ(of(1024, 64, Dim::horizontal), (Shape{1, 1}));
  EXPECT_EQ(of(1025, 64, Dim::horizontal), (Shape{1, 2}));
  EXPECT_EQ(of(9362, 7, Dim::horizontal), (Shape{1, 1}));  // 65,536 / 7, and no element in two subarrays
  EXPECT_EQ(of(9363, 7, Dim::horizontal), (Shape{1, 2}));
  EXPECT_THROW(of(0, 64, Dim::vertical), Error);
  EXPECT_THROW(of(1, 0, Dim::vertical), Error);
  EXPECT_THROW(of(1, 1025, Dim::vertical), Error);
  EXPECT_THROW(of(1, 65537, Dim::horizontal), Error);
  EXPECT_THROW(of(~std::uint64_t{0}, 64, Dim::vertical), Error);
  EXPECT_THROW(of(~std::uint64_t{0}, 64, Dim::horizontal), Error);
}

}  // namespace
}  // namespace terrace::pim
