// Blocks over a file: how much there may be, and what becomes of those that are freed.
#include "agent/heap/spilled_heap.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "strategy/spill/next_use.hpp"

namespace terrace::agent {
namespace {

constexpr std::size_t k_mib = std::size_t{1} << 20;

std::uint64_t address_space() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

class SpilledHeapTest : public testing::Test {
 protected:
  // Lives as long as the process, as in a program. Null, and the test is skipped, where the system lacks it.
  SpilledHeap* make(Bytes reserve, Bytes memory) {
    transfer::Spill::Parts parts;
    parts.memory = memory;
    parts.folder = "/var/tmp";
    parts.counts = &counts_;
    parts.foresight = []() -> std::unique_ptr<transfer::Foresight> {
      return std::make_unique<strategy::NextUse>();
    };
    parts.say = [](const char* sentence) { std::fprintf(stderr, "%s\n", sentence); };
    try {
      return new SpilledHeap(reserve, parts);
    } catch (const Error& error) {
      if (std::string(error.what()).find("needs Linux") == std::string::npos) throw;
      return nullptr;
    }
  }
  static inline transfer::SpillCounts counts_;
};

// A disk of 50 TiB, as of a cluster's file system, and one that says that it has no end.
TEST_F(SpilledHeapTest, LargeDisksTakeNoMoreAddressSpaceThanThereIs) {
  for (const auto disk : {Bytes{50ULL << 40}, Bytes{~std::uint64_t{0}}}) {
    const auto before = address_space();
    auto* const heap = make(SpilledHeap::most_data(Bytes{1ULL << 30}, disk), Bytes{1ULL << 30});
    if (!heap) GTEST_SKIP() << "no userfaultfd";
    EXPECT_LT(address_space() - before, 20ULL << 40);
    auto* const block = static_cast<char*>(heap->allocate(64 * k_mib, 1));
    ASSERT_NE(block, nullptr);
    for (std::size_t i = 0; i < 64 * k_mib; i += 4096) block[i] = 1;
    EXPECT_TRUE(heap->release(block));
  }
}

}  // namespace
}  // namespace terrace::agent
