// Tests binding and querying chunks, page by page against the kernel. One node suffices; tests/guest has two.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "memory/provider.hpp"
#include "support/real_memory.hpp"

namespace terrace::memory {
namespace {
using tests::Mapping;

constexpr int k_no_such_node = 1000;

// Counts the mappings in [low, high) that prefer node 0, by /proc/self/numa_maps.
int preferring(std::uint64_t low, std::uint64_t high) {
  std::ifstream maps("/proc/self/numa_maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    const auto address = std::stoull(line, nullptr, 16);
    count += address >= low && address < high && line.find(" prefer:0") != std::string::npos;
  }
  return count;
}

class NumaProviderTest : public ::testing::Test {
 protected:
  // Adds chunks of 4 pages each from the start of the mapping.
  void add_chunks(const Mapping& map, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) chunks_.add(map.address(4 * i), 4 * k_page, 0, 0, k_no_place);
  }
  const machine::Machine machine_ = tests::machine_on({0, k_no_such_node, -1});
  ChunkTable chunks_;
  NumaProvider provider_{machine_, chunks_};
};

TEST_F(NumaProviderTest, UntouchedChunks_HaveNoPlace) {
  const Mapping map(8 * k_page);
  add_chunks(map, 2);
  EXPECT_EQ(provider_.where(0), k_no_place);
  EXPECT_TRUE(provider_.bind(0, 2, 0));
  EXPECT_EQ(provider_.where(0), k_no_place) << "binding touches nothing";
  EXPECT_EQ(tests::kernel_nodes(map.address(), 8), std::vector<int>(8, -ENOENT));
}

TEST_F(NumaProviderTest, Bind_AffectsTheGivenChunksOnly) {
  const Mapping map(32 * k_page);
  add_chunks(map, 8);
  ASSERT_TRUE(provider_.bind(2, 3, 0));
  EXPECT_EQ(preferring(map.address(), map.address(32)), 1);
  EXPECT_EQ(preferring(map.address(8), map.address(9)), 1) << "from the first page of the chunks";
  map.touch(0, 32);
  EXPECT_EQ(provider_.where(2), 0);
  EXPECT_EQ(provider_.where(4), 0);
}

TEST_F(NumaProviderTest, Bind_RefusedBySystem_ReturnsFalse) {
  const Mapping map(8 * k_page);
  add_chunks(map, 2);
  EXPECT_FALSE(provider_.bind(0, 1, 1)) << "a node that does not exist";
  EXPECT_FALSE(provider_.bind(0, 1, 2)) << "a place without a node";
  map.touch(0, 8);
  EXPECT_EQ(provider_.where(0), 0) << "the memory is usable nevertheless";
  EXPECT_EQ(*map.page(7), 8);
}

TEST_F(NumaProviderTest, Bind_TouchedChunks_Succeeds) {
  const Mapping map(8 * k_page);
  add_chunks(map, 2);
  map.touch(0, 5);
  EXPECT_TRUE(provider_.bind(0, 2, 0));
  EXPECT_EQ(provider_.where(0), 0);
  EXPECT_EQ(provider_.where(1), 0) << "one page touched, three not yet";
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(*map.page(i), i + 1);
}

TEST_F(NumaProviderTest, Discard_DropsTheGivenChunksOnly) {
  const Mapping map(16 * k_page);
  add_chunks(map, 4);
  map.touch(0, 16);
  provider_.discard(1, 2);
  EXPECT_EQ(provider_.where(0), 0);
  EXPECT_EQ(provider_.where(1), k_no_place);
  EXPECT_EQ(provider_.where(2), k_no_place);
  EXPECT_EQ(provider_.where(3), 0);
  EXPECT_EQ(*map.page(4), 0);
}

TEST_F(NumaProviderTest, Bind_PartlyMappedRange_BindsMappedChunks) {
  const Mapping map(32 * k_page);
  add_chunks(map, 8);
  ASSERT_EQ(::munmap(map.page(0), 6 * k_page), 0);  // the first chunk and a half
  EXPECT_TRUE(provider_.bind(0, 8, 0));
  EXPECT_EQ(preferring(map.address(8), map.address(32)), 1);
  EXPECT_FALSE(provider_.bind(0, 1, 0)) << "nothing of it is mapped";
}

TEST_F(NumaProviderTest, UnmappedChunks_HaveNoPlace) {
  {
    const Mapping map(4 * k_page);
    add_chunks(map, 1);
    map.touch(0, 4);
    EXPECT_EQ(provider_.where(0), 0);
  }
  EXPECT_EQ(provider_.where(0), k_no_place);
  EXPECT_FALSE(provider_.bind(0, 1, 0));
}

}  // namespace
}  // namespace terrace::memory
