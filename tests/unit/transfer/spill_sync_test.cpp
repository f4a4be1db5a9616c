// Tests of reclaims with a slow sync of kernel-paged data.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "spill_fixture.hpp"

namespace {

std::atomic<std::uint64_t> g_steps{0};  // progress of the program
std::atomic<bool> g_is_slow{false};
std::atomic<int> g_syncs{0}, g_alone{0};  // syncs, and syncs without concurrent progress

}  // namespace

// Blocks until the program has made some progress. A program that waits for the sync fails the test at the
// deadline.
extern "C" int fdatasync(int file) {
  ++g_syncs;
  if (g_is_slow) {
    const auto until = std::chrono::steady_clock::now() + terrace::transfer::k_deadline;
    const auto steps = g_steps + 100;
    while (g_steps < steps && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    if (g_steps < steps) ++g_alone;
  }
  return static_cast<int>(syscall(SYS_fdatasync, file));
}

namespace terrace::transfer {
namespace {

TEST_P(SpillTest, ReclaimedBlock_SlowSync_ProgramContinues) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(3 * k_chunks, GetParam(), "/var/tmp", {}, spill_limits::k_min_period_ns);
  auto* const data = memory.allocate(k_chunks);
  auto* const other = memory.allocate(k_chunks);
  std::mt19937 random(5);
  g_syncs = g_alone = 0;
  for (int step = 0; step < 8000 && memory.counts().kernel_paged == 0; ++step)
    data[random() % k_chunks * k_words] += 1;
  ASSERT_EQ(memory.counts().max_kernel_paged, k_chunks * k_chunk);
  std::uint64_t sum = 0;
  for (std::size_t c = 0; c < k_chunks; ++c) sum += data[c * k_words] = c + 1;
  g_is_slow = true;  // a machine stalled for the whole period has already completed a fast sync
  for (std::uint64_t round = 0; round < 4000 && memory.counts().kernel_paged > 0; ++round)
    for (std::size_t c = 0; c < k_chunks; ++c) {
      ASSERT_EQ(other[c * k_words], round);
      for (std::size_t i = c * k_words; i < (c + 1) * k_words; ++i)
        other[i] += 1;  // keeps the other block in chunks
      ++g_steps;
    }
  g_is_slow = false;
  EXPECT_EQ(memory.counts().kernel_paged, 0U);
  EXPECT_EQ(g_syncs, 2);
  EXPECT_EQ(g_alone, 0);
  for (std::size_t c = 0; c < k_chunks; ++c) sum -= data[c * k_words];
  EXPECT_EQ(sum, 0U);
}

}  // namespace
}  // namespace terrace::transfer
