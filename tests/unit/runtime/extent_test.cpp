// Tests how objects are cut into chunks.
#include "runtime/extent.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace terrace::runtime {
namespace {

constexpr std::uint64_t k_kib = 1 << 10, k_mebi = 1 << 20;

Extent of(std::uint64_t size) { return extent_of({}, Bytes{4096}, 1 << 30, Bytes{size}); }

TEST(Extent, SmallAndLargeChunks_RoundUpOrToTheNearestHugePage) {
  EXPECT_EQ(of(100 * k_kib).chunk_size.value, 16 * k_kib);
  EXPECT_EQ(of(19776 * k_kib).chunk_size.value, 320 * k_kib);
  EXPECT_EQ(of(19776 * k_kib).chunks, 62U);
  EXPECT_EQ(of(128 * k_mebi).chunk_size.value, 2 * k_mebi);
  EXPECT_EQ(of(153944 * k_kib).chunk_size.value, 2 * k_mebi);
  EXPECT_EQ(of(153944 * k_kib).chunks, 76U);
  EXPECT_EQ(of(192 * k_mebi).chunk_size.value, 4 * k_mebi);
}

// For any size, chunks cover the object, none is empty, and from 16 MiB on there are about 64 of them.
TEST(Extent, AnySize_HasAboutAsManyChunksAsTheRuleSays) {
  for (std::uint64_t size = 4 * k_kib; size < 8192 * k_mebi; size += size / 37 / 4096 * 4096 + 4096) {
    const auto extent = of(size);
    EXPECT_EQ(extent.size.value, size);
    EXPECT_GE(extent.chunks * extent.chunk_size.value, size) << size;
    EXPECT_LT((extent.chunks - 1) * extent.chunk_size.value, size) << size;
    if (size < 16 * k_mebi) continue;
    EXPECT_GE(extent.chunks, 43U) << size;
    EXPECT_LE(extent.chunks, 96U) << size;
  }
}

}  // namespace
}  // namespace terrace::runtime
