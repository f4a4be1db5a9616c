// Tests of the pool of copying threads.
#include "transfer/exchange/copy_thread_pool.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "support/real_memory.hpp"

namespace terrace::transfer {
namespace {

using tests::Mapping;

constexpr std::size_t k_size = k_huge_page;

std::atomic<int> g_entered{0};
std::atomic<int> g_open_to_signals{0};
void enter() {
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  if (sigismember(&blocked, SIGUSR1) != 1) ++g_open_to_signals;
  ++g_entered;
}

TEST(CopyThreadPool, ConcurrentCopies_AnySize_CopyAllBytes) {
  g_entered = 0;
  {
    CopyThreadPool pool(4, enter);
    EXPECT_EQ(pool.threads(), 4u);
    std::vector<std::thread> callers;
    for (unsigned caller = 0; caller < 2; ++caller)
      callers.emplace_back([&, caller] {
        std::mt19937 random(caller);
        const Mapping from(k_size);
        const Mapping to(k_size + k_page);
        for (int round = 0; round < 200; ++round) {
          const auto size = (1 + random() % (k_size / k_page)) * k_page;
          std::memset(from.page(0), round + 1, size);
          std::memset(to.page(0), 0, size + k_page);
          pool.copy(copy_kernels()[random() % copy_kernels().size()], to.page(0), from.page(0), size);
          ASSERT_EQ(std::memcmp(to.page(0), from.page(0), size), 0);
          ASSERT_EQ(*to.page(size / k_page), 0);
        }
      });
    for (auto& caller : callers) caller.join();
  }
  EXPECT_EQ(g_entered, 3) << "its helpers made themselves known, and the callers did not";
  EXPECT_EQ(g_open_to_signals, 0);
}

TEST(CopyThreadPool, OneThread_HasNoHelpers) {
  g_entered = 0;
  CopyThreadPool pool(1, enter);
  EXPECT_EQ(pool.threads(), 1u);
  EXPECT_EQ(g_entered, 0);
}

}  // namespace
}  // namespace terrace::transfer
