// Tests the PIM programs on blocks of an allocator whose device others use as well.
#include "pim/lease.hpp"

#include <gtest/gtest.h>

#include <random>

#include "core/error.hpp"
#include "workloads/pim/axpy.hpp"
#include "workloads/pim/bitmap_join.hpp"
#include "workloads/pim/sha1.hpp"

namespace terrace::pim {
namespace {

constexpr Geometry k_device{1024, 512, 4, 2, 2};

struct Used : testing::Test {
  Used() {
    // Allocates a quarter of the first device, in pieces.
    for (int i = 0; i < 64; ++i) {
      const auto rows = 1 + static_cast<std::uint32_t>(dice() % 24);
      others.push_back(allocator.allocate({.shape = {rows, 1 + static_cast<std::uint32_t>(dice() % 3)}}));
    }
    for (std::size_t i = 0; i < others.size(); i += 2) allocator.release(others[i]);
    free_before = allocator.free_units();
  }
  ~Used() override { EXPECT_EQ(allocator.free_units(), free_before) << "leases gave back what they had"; }

  std::vector<std::uint64_t> numbers(std::size_t count) {
    std::vector<std::uint64_t> values(count);
    for (auto& value : values) value = dice();
    return values;
  }

  std::mt19937_64 dice{3};
  Allocator allocator{k_device};
  std::vector<Handle> others;
  std::uint64_t free_before = 0;
  Array array{k_device};
};

TEST_F(Used, AxpyOnAlignedVectors_CopiesNothing) {
  const auto x = numbers(1000), y = numbers(1000);
  Lease lease(allocator);
  const auto shape = shape_of_elements(k_device, x.size(), 64, Dim::vertical);
  const auto blocks = lease.together({shape, shape, shape});
  const Vector a{blocks[0], 1000, 64}, b{blocks[1], 1000, 64}, r{blocks[2], 1000, 64};
  write(array, a, x);
  write(array, b, y);
  const auto report = axpy(array, r, 12345678901, a, b, [&](const Shape& s) { return lease(s); });
  EXPECT_EQ(report.cycles.copies, 0) << "nothing had to be brought together";
  const auto got = read(array, r);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], 12345678901 * x[i] + y[i]);
}

TEST_F(Used, ScatteredVectors_AreCopiedAtAPrice) {
  const auto x = numbers(400), y = numbers(400);
  const auto shape = shape_of_elements(k_device, x.size(), 64, Dim::vertical);
  const Request request{.shape = shape, .dim = Dim::vertical, .fit = Fit::first};
  const auto one = allocator.allocate(request);
  std::vector<Handle> filling;  // fills the first device's banks, so that the second operand lies elsewhere
  while (const auto handle = allocator.allocate({.shape = {64, 1}})) {
    filling.push_back(handle);
    if (allocator.block(handle)->device == 1) break;
  }
  const auto two = allocator.allocate(request);
  ASSERT_NE(allocator.block(one)->device, allocator.block(two)->device);
  {
    const Vector a{*allocator.block(one), 400, 64}, b{*allocator.block(two), 400, 64};
    write(array, a, x);
    write(array, b, y);
    Lease beside(allocator, two);
    const Vector r{beside(shape), 400, 64};
    const auto report = axpy(array, r, 3, a, b, [&](const Shape& s) { return beside(s); });
    EXPECT_GT(report.cycles.copies, 0);
    const auto got = read(array, r);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], 3 * x[i] + y[i]);
  }
  for (const auto handle : filling) allocator.release(handle);
  allocator.release(one);
  allocator.release(two);
}

TEST_F(Used, Sha1AndJoin_RunOnAllocatedBlocks) {
  Lease hashes(allocator);
  const std::vector<std::string_view> messages{"abc", ""};
  const auto batch = sha1(array, messages, [&](const Shape& s) { return hashes(s); });
  EXPECT_EQ(batch.digests[0][0], 0xa9);  // FIPS 180-4's example: a9993e36...
  EXPECT_EQ(batch.digests[0][19], 0x9d);
  EXPECT_EQ(batch.digests[1][0], 0xda);  // da39a3ee...
  Lease join(allocator);
  const auto shape = shape_of_elements(k_device, 700, 16, Dim::vertical);
  const auto columns = join.together({shape, shape});
  std::vector<std::uint64_t> first(700), second(700), expected;
  for (std::size_t i = 0; i < 700; ++i) {
    first[i] = dice() % 50;
    second[i] = dice() % 90;
    if ((first[i] == 7 || first[i] == 8 || first[i] == 30) && second[i] < 20) expected.push_back(i);
  }
  const Vector a{columns[0], 700, 16}, b{columns[1], 700, 16};
  write(array, a, first);
  write(array, b, second);
  std::vector<std::uint64_t> low(20);
  for (std::size_t i = 0; i < low.size(); ++i) low[i] = i;
  const std::vector<Dimension> dimensions{{a, {30, 7, 8}}, {b, low}};
  EXPECT_EQ(bitmap_join(array, dimensions, [&](const Shape& s) { return join(s); }).rows, expected);
}

TEST_F(Used, NoSpace_Throws) {
  Lease lease(allocator);
  lease({1000, 1});
  EXPECT_THROW(lease({100, 1}), Error);
  EXPECT_THROW(lease.together({{1000, 1}, {1000, 1}}), Error);
}

}  // namespace
}  // namespace terrace::pim
