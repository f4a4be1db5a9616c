// Tests the lower bound of traffic against Belady's rule (Belady 1966), which reads least under demand paging; and
// the device's time against closed forms.
#include "sim/engine/page_bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "sim/engine/virtual_disk.hpp"

namespace terrace::sim {
namespace {

// Returns the pages that Belady's rule reads with the given capacity; first accesses bring content and are not
// reads.
std::uint64_t belady(const std::vector<std::uint32_t>& touches, std::size_t room) {
  std::vector<std::uint32_t> in;
  std::vector<bool> known(1000, false);
  std::uint64_t read = 0;
  for (std::size_t i = 0; i < touches.size(); ++i) {
    const auto page = touches[i];
    if (std::ranges::count(in, page) > 0) continue;
    if (known[page]) ++read;
    known[page] = true;
    if (in.size() == room) {
      const auto next = [&](std::uint32_t other) {
        return std::find(touches.begin() + static_cast<std::ptrdiff_t>(i), touches.end(), other);
      };
      in.erase(std::ranges::max_element(in, {}, next));
    }
    in.push_back(page);
  }
  return read;
}

TEST(PageBound, CyclicSweep_IsExact) {
  PageBound bound;
  for (int round = 0; round < 5; ++round) {
    for (std::uint32_t page = 0; page < 100; ++page) {
      bound.touch(page, 40);
      bound.store(page);
    }
    const auto least = bound.end_segment();
    EXPECT_EQ(least.read.value, round * 60u * 4096);
    EXPECT_EQ(least.written.value, (round + 1) * 60u * 4096);
  }
}

TEST(PageBound, RandomAccesses_NeverExceedBelady) {
  std::mt19937 random(3);
  std::uint64_t least_of_all = 0;
  std::uint64_t belady_of_all = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const auto pages = std::uniform_int_distribution<std::uint32_t>(2, 60)(random);
    const auto room = std::uniform_int_distribution<std::size_t>(1, pages)(random);
    const auto cuts = std::uniform_int_distribution<int>(1, 200)(random);
    std::vector<std::uint32_t> touches;
    while (touches.size() < 600) {
      const auto from = std::uniform_int_distribution<std::uint32_t>(0, pages - 1)(random);
      const auto many = std::uniform_int_distribution<std::uint32_t>(1, pages)(random);
      for (std::uint32_t i = 0; i < many; ++i) touches.push_back((from + i) % pages);
    }
    PageBound bound;
    for (std::size_t i = 0; i < touches.size(); ++i) {
      bound.touch(touches[i], room);
      if (i % static_cast<std::size_t>(cuts) == 0) bound.end_segment();
    }
    const auto least = bound.end_segment().read.value / 4096;
    const auto read = belady(touches, room);
    ASSERT_LE(least, read) << "trial " << trial;
    least_of_all += least;
    belady_of_all += read;
  }
  // Cut every hundred accesses, with some fifty pages in memory, the bound is still large.
  EXPECT_GT(least_of_all, belady_of_all / 2);
}

TEST(PageBound, FreedPages_NeedNoWriting) {
  for (const bool freed : {false, true}) {
    PageBound bound;
    for (std::uint32_t from : {0U, 100U}) {
      for (auto page = from; page < from + 100; ++page) {
        bound.touch(page, 100);
        bound.store(page);
      }
      if (freed) bound.forget(from, 100);
    }
    EXPECT_EQ(bound.end_segment().written.value, freed ? 0u : 100u * 4096);
    for (std::uint32_t page = 0; page < 200; ++page) bound.touch(page, 100);
    EXPECT_EQ(bound.end_segment().read.value, freed ? 0u : 100u * 4096);
  }
}

constexpr machine::BackingFile device(std::uint32_t requests) { return {{}, 0, {2e9}, {1e9}, {1e-3}, requests}; }

TEST(VirtualDisk, SingleRequest_TakesLatencyAndTransfer) {
  VirtualDisk disk(device(8));
  EXPECT_FALSE(disk.next_end());
  disk.start(false, Bytes{2'000'000}, 7, Seconds{1});
  EXPECT_NEAR(disk.next_end()->value, 1.002, 1e-12);
  EXPECT_FALSE(disk.take_ended(Seconds{1.0019}));
  const auto ended = disk.take_ended(Seconds{2});
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->token, 7u);
  EXPECT_NEAR(ended->at.value, 1.002, 1e-12);
  EXPECT_EQ(disk.under_way(), 0u);
}

TEST(VirtualDisk, ReadsAndWrites_ShareTheBandwidth) {
  VirtualDisk disk(device(8));
  disk.start(false, Bytes{2'000'000}, 1, {});  // a millisecond of the device's time
  disk.start(true, Bytes{3'000'000}, 2, {});   // three milliseconds
  const auto first = disk.take_ended(Seconds{1});
  const auto second = disk.take_ended(Seconds{1});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->token, 1u);
  EXPECT_NEAR(first->at.value, 3e-3, 1e-12);   // latency, then half of the bandwidth for two milliseconds
  EXPECT_NEAR(second->at.value, 5e-3, 1e-12);  // all transfers, and one latency
}

TEST(VirtualDisk, RequestsBeyondTheLimit_Wait) {
  VirtualDisk disk(device(1));
  for (std::uint64_t i = 0; i < 3; ++i) disk.start(false, Bytes{2'000'000}, i, {});
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto ended = disk.take_ended(Seconds{1});
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->token, i);
    EXPECT_NEAR(ended->at.value, 2e-3 * static_cast<double>(i + 1), 1e-12);
  }
}

}  // namespace
}  // namespace terrace::sim
