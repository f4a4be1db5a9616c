// Tests of out-of-core memory: every byte has its latest value, whatever the disk does.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "spill_fixture.hpp"

namespace terrace::transfer {
namespace {

TEST_P(SpillTest, Sweeps_ReadBackAllData) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(k_chunks, GetParam());
  EXPECT_STREQ(memory.spill().queue_name(), GetParam() ? "io_uring" : "threads");
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t i = 0; i < k_chunks * k_words; i += 64) data[i] = value(i, 0);
  for (std::uint64_t round = 0; round < 6; ++round)
    for (std::size_t i = 0; i < k_chunks * k_words; i += 64) {
      if (i % k_words == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(3));  // emulates computation, slower than the disk
      ASSERT_EQ(data[i], value(i, round)) << "round " << round << ", word " << i;
      data[i] = value(i, round + 1);
    }
  const auto& counts = memory.counts();
  EXPECT_GT(counts.written, 6 * (k_chunks - 25) * k_chunk) << "each round writes what does not fit";
  EXPECT_GT(counts.prefetched, k_chunks) << "in the second round it is known what follows";
  if (k_knows_memory) {
    EXPECT_LE(counts.in_memory, 25 * k_chunk);
    EXPECT_EQ(counts.max_over_limit, 0U);
  }
  EXPECT_EQ(counts.content, k_chunks * k_chunk);
}

TEST_P(SpillTest, ReadOnlyData_IsWrittenOnce) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t c = 0; c < k_chunks; ++c) data[c * k_words + 5] = c + 1;
  for (int round = 0; round < 6; ++round)
    for (std::size_t c = 0; c < k_chunks; ++c) ASSERT_EQ(data[c * k_words + 5], c + 1);
  EXPECT_LE(memory.counts().written, k_chunks * k_chunk);
  EXPECT_GT(memory.counts().clean, 4 * (k_chunks - 25));
}

// Threads increment own and shared words, and occasionally read into a chunk by a system call, while blocks are
// allocated and released.
TEST_P(SpillTest, RandomAccessByThreads_LosesNoWrite) {
  constexpr std::size_t k_chunks = 40;
  Spilled memory(2 * k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  std::vector<std::vector<std::uint64_t>> own(2, std::vector<std::uint64_t>(k_chunks));
  std::atomic<std::uint64_t> shared{0};
  const auto work = [&](std::size_t thread) {
    std::mt19937 random(static_cast<unsigned>(thread) + 1);
    const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    std::uint64_t* block = nullptr;
    for (int step = 0; step < 800; ++step) {
      const auto c = random() % k_chunks;
      auto* const chunk = data + c * k_words;
      chunk[100 + thread]++;
      own[thread][c]++;
      __atomic_fetch_add(&chunk[0], 1, __ATOMIC_RELAXED);
      shared++;
      if (step % 50 == 0) {
        chunk[k_words - 1 - thread] = 7;
        ASSERT_EQ(read(zeros, &chunk[k_words - 1 - thread], sizeof *chunk), 8);
        ASSERT_EQ(chunk[k_words - 1 - thread], 0U);
      }
      if (step % 40 == 0 && thread == 0) {
        if (block) memory.release(block);
        block = memory.allocate(1 + random() % 4);
        ASSERT_EQ(block[random() % k_words], 0U) << "new memory is zero";
        for (std::size_t i = 0; i < k_words; i += 512) block[i] = 99;
      }
    }
    close(zeros);
    if (block) memory.release(block);
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  std::uint64_t sum = 0;
  for (std::size_t c = 0; c < k_chunks; ++c) {
    EXPECT_EQ(data[c * k_words + 100], own[0][c]);
    EXPECT_EQ(data[c * k_words + 101], own[1][c]);
    sum += data[c * k_words];
  }
  EXPECT_EQ(sum, shared);
  EXPECT_EQ(memory.counts().content, k_chunks * k_chunk);
  memory.release(data);
  auto* const again = memory.allocate(k_chunks);
  for (std::size_t c = 0; c < k_chunks; ++c) EXPECT_EQ(again[c * k_words], 0U);
}

// Recycled pages are cleared before they become new memory, also after unused prefetches.
TEST_P(SpillTest, NewMemory_RecycledPages_IsZero) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(3 * k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t c = 0; c < k_chunks; ++c)
    for (std::size_t i = 0; i < k_words; i += 512) data[c * k_words + i] = c + 1;
  for (int round = 0; round < 10; ++round) {
    // A partial sweep: the following chunks are prefetched and not accessed.
    for (std::size_t c = 0; c < 20 + 4 * static_cast<std::size_t>(round % 5); ++c)
      ASSERT_EQ(data[c * k_words], c + 1);
    auto* const block = memory.allocate(k_chunks / 2);
    for (std::size_t c = 0; c < k_chunks / 2; ++c)
      for (std::size_t i = 0; i < k_words; i += 512) ASSERT_EQ(block[c * k_words + i], 0U) << round << ": " << c;
    memory.release(block);
  }
}

TEST_P(SpillTest, ZeroChunks_AreNotWritten) {
  constexpr std::size_t k_chunks = 40;
  Spilled memory(k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t c = 0; c < k_chunks; ++c) ASSERT_EQ(std::exchange(data[c * k_words], 0), 0U);
  for (std::size_t c = 0; c < k_chunks; ++c) ASSERT_EQ(data[c * k_words], 0U);
  EXPECT_EQ(memory.counts().written, 0U);
}

// A full disk: data that the file refuses stay in memory, and one warning is printed.
TEST_P(SpillTest, FileFull_DataStayInMemory) {
  constexpr std::size_t k_chunks = 40;
  const SmallFiles small(16);
  Spilled memory(k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (std::uint64_t round = 0; round < 4; ++round)
    for (std::size_t c = 0; c < k_chunks; ++c)
      for (std::size_t i = 0; i < k_words; i += 512) {
        if (round > 0) {
          ASSERT_EQ(data[c * k_words + i], value(c * k_words + i, round - 1));
        }
        data[c * k_words + i] = value(c * k_words + i, round);
      }
  EXPECT_GT(memory.counts().max_over_limit, 0U);
  const auto text = said();
  EXPECT_NE(text.find("stays in memory"), std::string::npos) << text;
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

TEST_P(SpillTest, BackingFile_IsUnlinked) {
  const auto folder = testing::TempDir() + "spill-" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  {
    Spilled memory(20, GetParam(), folder);
    auto* const data = memory.allocate(20);
    for (std::size_t c = 0; c < 20; ++c) data[c * k_words] = c + 1;
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
  EXPECT_TRUE(std::filesystem::remove(folder));
  EXPECT_THROW(Spilled(4, GetParam(), folder), Error);
}

INSTANTIATE_TEST_SUITE_P(Queues, SpillTest, testing::Values(true, false),
                         [](const auto& way) { return way.param ? "ring" : "threads"; });

}  // namespace
}  // namespace terrace::transfer
