#include "pim/allocator.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "histories.hpp"

namespace terrace::pim {
namespace {

constexpr Geometry k_paper{1024, 65536, 16, 8, 1};  // Table 3

TEST(Allocator, RandomRequests_AgreeWithBruteForce) {
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) ASSERT_EQ(sequential_history(seed), "");
}

TEST(Allocator, ConcurrentHistories_AreLinearizable) { EXPECT_EQ(concurrent_histories(1, 2'000), ""); }

// The paper's full-array benchmark: 1,024 rows across all subarrays, 128 whole subarrays.
TEST(Allocator, PaperBenchmark_FillsWholeArray) {
  for (const auto& [bytes, dim, count] :
       {std::tuple{Bytes{1 << 20}, Dim::horizontal, 1024U}, std::tuple{Bytes{8 << 20}, Dim::vertical, 128U}}) {
    Allocator allocator(k_paper);
    const Request request{.shape = shape_of(k_paper, bytes, dim), .dim = dim};
    std::vector<Handle> handles;
    while (const auto handle = allocator.allocate(request)) handles.push_back(handle);
    EXPECT_EQ(handles.size(), count);
    EXPECT_EQ(allocator.free_units(), 0);
    for (const auto handle : handles) EXPECT_EQ(allocator.release(handle), Released::done);
    EXPECT_EQ(allocator.free_units(), k_paper.units());
  }
}

TEST(Allocator, GroupInSubarray_SharesFirstSubarray) {
  Allocator allocator(k_paper);
  const Request vector{.shape = shape_of_elements(k_paper, 100'000, 64, Dim::vertical), .dim = Dim::vertical};
  ASSERT_EQ(vector.shape, (Shape{64, 2}));
  const auto x = allocator.allocate(vector);
  ASSERT_TRUE(allocator.allocate({.shape = {900, 3}}));
  auto beside = vector;
  beside.beside = x;
  const auto y = allocator.allocate(beside);
  EXPECT_EQ(allocator.block(x)->subarray, allocator.block(y)->subarray);
  const auto group = allocator.allocate_group(std::vector(8, vector), Within::subarray);
  ASSERT_EQ(group.size(), 8U);
  for (const auto handle : group)
    EXPECT_EQ(allocator.block(handle)->subarray, allocator.block(group[0])->subarray);
}

TEST(Allocator, InvalidRequest_Throws) {
  Allocator allocator(k_paper);
  const auto refused = [&](const Request& request, const std::string& words) {
    try {
      allocator.allocate(request);
      ADD_FAILURE() << "accepted: " << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  refused({.shape = {0, 1}}, "0 rows x 1 subarrays were requested; request at least 1 row of 1 subarray");
  refused({.shape = {1025, 1}},
          "1025 rows x 1 subarrays were requested, but a device has 1024 x 128; request fewer");
  refused({.shape = {1, 17}, .within = Within::bank}, "a bank has 1024 x 16");
  refused({.shape = {1, 2}, .within = Within::subarray}, "a subarray has 1024 x 1");
  refused({.shape = {0xffffffff, 0xffffffff}}, "request fewer");
  refused({.shape = {1, 1}, .row_alignment = 0}, "alignment to 0 rows and 1 subarrays");
  refused({.shape = {1, 1}, .beside = {12345}}, "beside: the block does not exist");
  EXPECT_THROW(allocator.allocate_group({}, Within::bank), Error);
  EXPECT_THROW(allocator.allocate_group(std::vector(9, Request{.shape = {1, 1}}), Within::bank), Error);
  const Request best{.shape = {1, 1}, .fit = Fit::best};
  EXPECT_THROW(allocator.allocate_group({&best, 1}, Within::bank), Error) << "it would be placed first fit";
  const auto other = allocator.allocate({.shape = {1, 1}});
  const Request beside{.shape = {1, 1}, .beside = other};
  EXPECT_THROW(allocator.allocate_group({&beside, 1}, Within::bank), Error) << "it would lie elsewhere";
  allocator.release(other);
  EXPECT_THROW(Allocator(k_paper, 0), Error);
  EXPECT_THROW(Allocator(Geometry{1024, 65536, 0, 8, 1}), Error);
  EXPECT_EQ(allocator.free_units(), k_paper.units());
}

TEST(Allocator, ReleasedOrForeignHandle_IsDetected) {
  Allocator first(k_paper, 1), second(k_paper, 2);
  const auto handle = first.allocate({.shape = {3, 2}});
  EXPECT_EQ(second.release(handle), Released::foreign);
  EXPECT_EQ(first.release({0}), Released::foreign);
  EXPECT_EQ(first.release({handle.value + 1}), Released::foreign);
  EXPECT_EQ(first.release({~std::uint64_t{0}}), Released::foreign);
  EXPECT_EQ(first.release(handle), Released::done);
  const auto again = first.allocate({.shape = {3, 2}});  // reuses the first block's location
  EXPECT_EQ(first.block(again)->row, 0U);
  EXPECT_EQ(first.release(handle), Released::already);
  EXPECT_EQ(first.block(handle), std::nullopt);
  EXPECT_EQ(first.release(again), Released::done);
}

}  // namespace
}  // namespace terrace::pim
