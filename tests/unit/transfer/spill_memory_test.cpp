// Tests of out-of-core memory while Terrace's own allocations fail.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <random>

#include "spill_fixture.hpp"

namespace {

std::atomic<bool> g_is_short{false};
thread_local bool t_may_allocate = false;  // exception for this thread

void* allocate(std::size_t size) {
  if (g_is_short.load(std::memory_order_relaxed) && !t_may_allocate) throw std::bad_alloc();
  if (void* const block = std::malloc(size > 0 ? size : 1)) return block;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t) noexcept { std::free(block); }

namespace terrace::transfer {
namespace {

class Shortage {
 public:
  Shortage() {
    t_may_allocate = true;
    g_is_short = true;
  }
  ~Shortage() { g_is_short = false; }
  Shortage(const Shortage&) = delete;
  Shortage& operator=(const Shortage&) = delete;
};

// Sweeps, random accesses, partial allocations and releases, a child: no data are lost, and the process survives.
TEST_P(SpillTest, AllocationFailures_LoseNoData) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(4 * k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  {
    const Shortage shortage;
    for (std::uint64_t round = 0; round < 4; ++round)
      for (std::size_t i = 0; i < k_chunks * k_words; i += 512) {
        ASSERT_EQ(data[i], round == 0 ? 0 : value(i, round - 1));
        data[i] = value(i, round);
      }
    std::mt19937 random(1);
    for (int step = 0; step < 1000; ++step) {
      const auto i = random() % k_chunks * k_words;
      ASSERT_EQ(data[i], value(i, 3));
    }
    memory.spill().change_protection(reinterpret_cast<std::uint64_t>(data + 9 * k_words), k_chunk, false);
    for (int again = 0; again < 2; ++again) {
      memory.spill().before_fork({});
      const pid_t child = fork();
      if (child == 0) {
        memory.spill().in_child();
        _exit(5);
      }
      memory.spill().after_fork();
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_EQ(WEXITSTATUS(status), 5);
    }
    for (std::size_t i = 0; i < k_chunks * k_words; i += 512) ASSERT_EQ(data[i], value(i, 3));
  }
  auto* const other = memory.allocate(k_chunks);
  for (std::size_t i = 0; i < k_chunks * k_words; i += 512) ASSERT_EQ(other[i], 0U);
  memory.release(other);
}

}  // namespace
}  // namespace terrace::transfer
