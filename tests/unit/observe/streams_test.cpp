// Tests which misses the stream prefetchers would have fetched.
#include "observe/cache/streams.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace terrace::observe {
namespace {

constexpr std::uint64_t k_start = std::uint64_t{1} << 20;
constexpr std::uint32_t k_streams = 16;

TEST(StreamPrefetcher, AscendingStream_PrefetchedFromFourthLine) {
  StreamPrefetcher streams(k_streams);
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(streams.on_miss(k_start + i), i >= 3) << i;
}

TEST(StreamPrefetcher, DescendingStream_PrefetchedFromFourthLine) {
  StreamPrefetcher streams(k_streams);
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(streams.on_miss(k_start + 63 - i), i >= 3) << i;
}

TEST(StreamPrefetcher, SmallStrides_ArePrefetched) {
  for (std::uint64_t stride = 2; stride <= static_cast<std::uint64_t>(k_max_stride); ++stride) {
    StreamPrefetcher streams(k_streams);
    for (std::uint64_t i = 0; i < 200; ++i) ASSERT_EQ(streams.on_miss(k_start + i * stride), i >= 3) << stride;
  }
}

TEST(StreamPrefetcher, LargeStrides_AreNotPrefetched) {
  StreamPrefetcher streams(k_streams);
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_FALSE(streams.on_miss(k_start + i * 64));
}

TEST(StreamPrefetcher, InterleavedStreams_FollowedUpToLimit) {
  for (const std::uint32_t followed : {8U, 16U, 20U, 512U}) {
    const auto share = [&](std::uint64_t interleaved) {
      StreamPrefetcher streams(followed);
      std::uint64_t prefetched = 0;
      for (std::uint64_t i = 0; i < 500; ++i) {
        for (std::uint64_t s = 0; s < interleaved; ++s)
          prefetched += streams.on_miss(k_start + s * 100003 + i) ? 1 : 0;
      }
      return static_cast<double>(prefetched) / static_cast<double>(500 * interleaved);
    };
    EXPECT_GE(share(followed), 0.99) << followed;
    EXPECT_LE(share(4 * followed), 0.1) << followed;
  }
}

// Scatter into buckets: each is a stream, and the next one is random.
TEST(StreamPrefetcher, RandomInterleaving_StreamsContinue) {
  constexpr std::uint32_t k_buckets = 512;
  StreamPrefetcher streams(2 * k_buckets);
  std::vector<std::uint64_t> next(k_buckets);
  for (std::uint64_t s = 0; s < k_buckets; ++s) next[s] = k_start + s * 1000;
  std::mt19937_64 random(4);
  std::uint64_t prefetched = 0;
  constexpr std::uint64_t k_misses = 200 * k_buckets;
  for (std::uint64_t i = 0; i < k_misses; ++i) prefetched += streams.on_miss(next[random() % k_buckets]++) ? 1 : 0;
  EXPECT_GE(static_cast<double>(prefetched), 0.97 * k_misses);
}

TEST(StreamPrefetcher, TwoStreamsInOneWindow_AreSeparate) {
  StreamPrefetcher streams(k_streams);
  std::uint64_t prefetched = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    prefetched += streams.on_miss(k_start + i) ? 1 : 0;
    prefetched += streams.on_miss(k_start + 40 + i + 2000) ? 1 : 0;
  }
  EXPECT_GE(prefetched, 1990u);
}

TEST(StreamPrefetcher, CachedLines_AreSkipped) {
  StreamPrefetcher streams(k_streams);
  std::uint64_t prefetched = 0, misses = 0;
  std::mt19937_64 random(1);
  for (std::uint64_t i = 0; i < 4000; ++i) {
    if (i > 10 && random() % 3 == 0) continue;  // a hit: streams do not see it
    ++misses;
    prefetched += streams.on_miss(k_start + i) ? 1 : 0;
  }
  EXPECT_GE(static_cast<double>(prefetched), 0.97 * static_cast<double>(misses));
}

TEST(StreamPrefetcher, RandomMisses_DoNotPolluteTable) {
  // A stream is still followed with 32 random misses between its lines; random misses are no stream.
  StreamPrefetcher streams(k_streams);
  std::mt19937_64 random(2);
  std::uint64_t followed = 0, mistaken = 0;
  constexpr std::uint64_t k_lines = 2000, k_between = 32;
  for (std::uint64_t i = 0; i < k_lines; ++i) {
    followed += streams.on_miss(k_start + i) ? 1 : 0;
    for (std::uint64_t k = 0; k < k_between; ++k)
      mistaken += streams.on_miss((1 << 24) + random() % (1 << 20)) ? 1 : 0;
  }
  EXPECT_GE(static_cast<double>(followed), 0.99 * k_lines);
  EXPECT_LE(static_cast<double>(mistaken), 0.001 * k_lines * k_between);
}

TEST(StreamPrefetcher, RandomMissesInSmallArea_FewStreams) {
  StreamPrefetcher streams(k_streams);
  std::mt19937_64 random(3);
  std::uint64_t mistaken = 0;
  for (int i = 0; i < 100000; ++i) mistaken += streams.on_miss(k_start + random() % 16384) ? 1 : 0;
  EXPECT_LE(mistaken, 1000u);
}

}  // namespace
}  // namespace terrace::observe
