// Settling and asking, page by page against the kernel. One node is enough; tests/guest has two.
#include "memory/numa_provider.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "support/real_memory.hpp"

namespace terrace::memory {
namespace {
using tests::Mapping;

constexpr int k_no_such_node = 1000;

// How many mappings of this process prefer node 0, by the kernel's account; they begin in [low, high).
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
  // Chunks of 4 pages each from the mapping's beginning.
  void add_chunks(const Mapping& map, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) chunks_.add(map.address(4 * i), 4 * k_page, 0, 0, k_no_place);
  }
  const machine::Machine machine_ = tests::machine_on({0, k_no_such_node, -1});
  ChunkTable chunks_;
  NumaProvider provider_{machine_, chunks_};
};

TEST_F(NumaProviderTest, UntouchedChunksLieNowhere) {
  const Mapping map(8 * k_page);
  add_chunks(map, 2);
  EXPECT_EQ(provider_.where(0), k_no_place);
  EXPECT_TRUE(provider_.bind(0, 2, 0));
  EXPECT_EQ(provider_.where(0), k_no_place) << "settling touches nothing";
  EXPECT_EQ(tests::kernel_nodes(map.address(), 8), std::vector<int>(8, -ENOENT));
}

TEST_F(NumaProviderTest, SettlesARunOfChunksAndNotItsNeighbours) {
  const Mapping map(32 * k_page);
  add_chunks(map, 8);
  ASSERT_TRUE(provider_.bind(2, 3, 0));
  EXPECT_EQ(preferring(map.address(), map.address(32)), 1);
  EXPECT_EQ(preferring(map.address(8), map.address(9)), 1) << "from the run's first page";
  map.touch(0, 32);
  EXPECT_EQ(provider_.where(2), 0);
  EXPECT_EQ(provider_.where(4), 0);
}

TEST_F(NumaProviderTest, SaysNoWhereTheSystemDoes) {
  const Mapping map(8 * k_page);
  add_chunks(map, 2);
  EXPECT_FALSE(provider_.bind(0, 1, 1)) << "a node that is not there";
  EXPECT_FALSE(provider_.bind(0, 1, 2)) << "a place without a node";
  map.touch(0, 8);
  EXPECT_EQ(provider_.where(0), 0) << "the memory is usable all the same";
  EXPECT_EQ(*map.page(7), 8);
}

TEST_F(NumaProviderTest, SettlesWhatIsTouchedAlready) {
  const Mapping map(8 * k_page);
  add_chunks(map, 2);
  map.touch(0, 5);
  EXPECT_TRUE(provider_.bind(0, 2, 0));
  EXPECT_EQ(provider_.where(0), 0);
  EXPECT_EQ(provider_.where(1), 0) << "one page there, three to come";
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(*map.page(i), i + 1);
}

TEST_F(NumaProviderTest, SettlesWhatIsMappedOfARange) {
  const Mapping map(32 * k_page);
  add_chunks(map, 8);
  ASSERT_EQ(::munmap(map.page(0), 6 * k_page), 0);  // the first chunk and a half
  EXPECT_TRUE(provider_.bind(0, 8, 0));
  EXPECT_EQ(preferring(map.address(8), map.address(32)), 1);
  EXPECT_FALSE(provider_.bind(0, 1, 0)) << "nothing of it is mapped";
}

TEST_F(NumaProviderTest, KnowsNothingOfMemoryThatIsGone) {
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
