// Tests of the limit of resident chunks with unevictable memory.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "spill_fixture.hpp"

namespace terrace::transfer {
namespace {

// Unevictable memory exceeds the limit: a warning is printed, and a reused working set stays resident.
TEST_P(SpillTest, UnevictableMemoryExceedsLimit_WorkingSetStays) {
  constexpr std::size_t k_chunks = 20;
  const std::vector<char> small(64ULL << 20, 1);
  Spilled memory(k_chunks, GetParam(), "/var/tmp", Bytes{64ULL << 20});
  auto* const data = memory.allocate(k_chunks);
  for (std::uint64_t round = 0; round < 100; ++round)
    for (std::size_t c = 0; c < k_chunks; ++c) {
      ASSERT_EQ(data[c * k_words + 3], round > 0 ? value(c, round - 1) : 0);
      data[c * k_words + 3] = value(c, round);
    }
  EXPECT_LT(memory.counts().read, 30 * k_chunks * k_chunk) << "of 100 rounds";
  EXPECT_GT(memory.counts().max_over_limit, 0U);
  EXPECT_LE(memory.counts().max_over_limit, 2 * k_chunks * k_chunk);
  EXPECT_EQ(memory.counts().over_limit_reasons, std::uint32_t{k_over_rest});
  EXPECT_NE(said().find("memory that cannot be out of core"), std::string::npos) << said();
  EXPECT_NE(said().find("of --memory 64MiB: give at least "), std::string::npos) << said();
}

// Chunks refused by the file do not reduce the limit of the others.
TEST_P(SpillTest, RefusedChunks_DoNotReduceOthersLimit) {
  constexpr std::size_t k_chunks = 80;
  const SmallFiles small(16);
  Spilled memory(k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  const auto round_of = [&](std::size_t chunks, std::uint64_t round) {
    for (std::size_t c = 0; c < chunks; ++c) {
      if (round > 0) {
        ASSERT_EQ(data[c * k_words], value(c, round - 1));
      }
      data[c * k_words] = value(c, round);
    }
  };
  round_of(k_chunks, 0);
  for (std::uint64_t round = 1; round < 5; ++round) round_of(12, round);
  const auto moved = memory.counts().read + memory.counts().written;
  for (std::uint64_t round = 5; round < 50; ++round) round_of(12, round);
  EXPECT_LT(memory.counts().read + memory.counts().written - moved, 12 * 10 * k_chunk) << "of 45 rounds";
  EXPECT_GT(memory.counts().max_over_limit, 0U);
  EXPECT_EQ(memory.counts().over_limit_reasons, std::uint32_t{k_over_file});
  EXPECT_GE(memory.counts().limit, memory.counts().max_over_limit + 12 * k_chunk) << "as much as without";
}

// A temporarily full disk: after space returns the limit holds again, and no data are lost.
TEST_P(SpillTest, RefusedChunks_DiskSpaceReturns_AreEvicted) {
  constexpr std::size_t k_chunks = 80;
  std::optional<SmallFiles> small(16);
  Spilled memory(k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t c = 0; c < k_chunks; ++c) data[c * k_words] = value(c, 0);
  const auto usual = memory.counts().limit - (memory.counts().max_over_limit + k_chunk);
  for (std::size_t c = 0; c < 20; ++c) data[c * k_words] = value(c, 1);
  ASSERT_GT(memory.counts().in_memory, usual + 10 * k_chunk);
  small.reset();
  const auto end = std::chrono::steady_clock::now() + k_deadline;
  while (memory.counts().in_memory > usual + 4 * k_chunk && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_LE(memory.counts().in_memory, usual + 4 * k_chunk);
  for (std::size_t c = 0; c < k_chunks; ++c) ASSERT_EQ(data[c * k_words], value(c, c < 20 ? 1 : 0));
}

// Locked memory stays resident beyond the limit, and the reason is reported.
TEST_P(SpillTest, LockedMemory_StaysResident) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t c = 0; c < k_chunks; ++c) data[c * k_words] = c;
  if (mlock(data, k_chunks * k_chunk) != 0) GTEST_SKIP() << "this process may not lock memory";
  for (std::size_t c = 0; c < k_chunks; ++c) EXPECT_EQ(data[c * k_words], c);
  if (k_knows_memory) {
    EXPECT_GE(memory.counts().max_over_limit, 30 * k_chunk);
    EXPECT_EQ(memory.counts().over_limit_reasons, std::uint32_t{k_over_held});
  }
  munlock(data, k_chunks * k_chunk);
}

// Samples the peak of resident memory on a separate thread.
class Peak {
 public:
  Peak()
      : thread_([this](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            most_ = std::max(most_.load(), resident_bytes().value);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }) {}
  Bytes most() {
    thread_.request_stop();
    thread_.join();
    return Bytes{most_};
  }

 private:
  std::atomic<std::uint64_t> most_{0};
  std::jthread thread_;
};

// Sweeps and random accesses by several threads.
void sweep_and_jump(std::uint64_t* data, std::size_t chunks, unsigned seed) {
  std::mt19937 random(seed);
  for (std::size_t c = 0; c < chunks; ++c) data[c * k_words] = c;
  for (int round = 0; round < 2; ++round) {
    for (int step = 0; step < 200; ++step) data[random() % (chunks / 4) * k_words + 1] += 1;
    for (auto c = chunks / 4; c < chunks; ++c) data[c * k_words + 1] += 1;
  }
  for (std::size_t c = 0; c < chunks; ++c) ASSERT_EQ(data[c * k_words], c);
}

TEST_P(SpillTest, ConcurrentThreads_StayWithinLimit) {
  constexpr std::size_t k_chunks = 400;
  constexpr std::size_t k_threads = 4;
  const auto limit = memory_with(40);
  Spilled memory(k_chunks, GetParam(), "/var/tmp", limit);
  auto* const data = memory.allocate(k_chunks);
  Peak peak;
  std::vector<std::jthread> running;
  for (unsigned i = 0; i < k_threads; ++i)
    running.emplace_back(sweep_and_jump, data + i * (k_chunks / k_threads) * k_words, k_chunks / k_threads, i);
  running.clear();
  const auto most = peak.most();
  if (!k_knows_memory) return;
  EXPECT_EQ(memory.counts().max_over_limit, 0U);
  EXPECT_LE(most.value, limit.value + (8ULL << 20));
}

// Growing other memory soon reduces the chunk budget.
TEST_P(SpillTest, GrowingHeap_ReducesChunkBudget) {
  constexpr std::size_t k_chunks = 100;
  constexpr std::size_t k_rounds = 4;
  const auto limit = memory_with(80);
  Spilled memory(k_chunks, GetParam(), "/var/tmp", limit);
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t c = 0; c < k_chunks; ++c) data[c * k_words] = c;
  Peak peak;
  std::vector<std::vector<char>> small;
  for (std::size_t i = 0; i < k_rounds * k_chunks; ++i) {
    data[i % k_chunks * k_words + 1] += 1;
    for (std::size_t made = 0; made < (96ULL << 20) / (k_rounds * k_chunks); made += 4000)
      small.emplace_back(4000, 1);
  }
  const auto most = peak.most();
  if (!k_knows_memory) return;
  EXPECT_LE(most.value, limit.value + (16ULL << 20));
}

// The limit also holds for kernel-paged blocks, whose memory does not count as unevictable.
TEST_P(SpillTest, KernelPagedBlocks_StayWithinLimit) {
  constexpr std::size_t k_chunks = 100;
  const auto limit = std::max(memory_with(20), Bytes{64ULL << 20});
  Spilled memory(k_chunks, GetParam(), "/var/tmp", limit);
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t c = 0; c < k_chunks; ++c) data[c * k_words] = c;
  std::mt19937 random(5);
  for (int step = 0; step < 8000 && memory.counts().kernel_paged == 0; ++step)
    data[random() % k_chunks * k_words + 1] += 1;
  ASSERT_EQ(memory.counts().kernel_paged, k_chunks * k_chunk);
  Peak peak;
  constexpr std::size_t k_step = 512 + 1;  // a page and a word
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < end)
    for (std::size_t i = 0; i < 100; ++i) data[random() % (k_chunks * k_words / k_step) * k_step] += 1;
  EXPECT_GT(memory.counts().kernel_paged, 0U);
  const auto most = peak.most();
  if (!k_knows_memory) return;
  EXPECT_EQ(said(), "");
  EXPECT_LE(most.value, limit.value + (8ULL << 20));
}

}  // namespace
}  // namespace terrace::transfer
