// Tests of userfaultfd(2) behaviour that the kernel guarantees only nearly always.
#include "transfer/exchange/userfault.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "core/rounding.hpp"
#include "support/spin_wait.hpp"

namespace terrace::transfer {
namespace {

void idle(unsigned turns) {
  for (volatile unsigned turn = 0; turn < turns;) turn = turn + 1;
}

// A thread faults on a page while the range is unregistered. Without a second wake-up it hung in one of 2,000 to
// 20,000 trials, each of which takes some microseconds (Linux 6.18). `make soak` has all rounds.
TEST(Userfault, FaultDuringUnregister_IsWoken) {
  Userfault faults(0);
  if (!faults.is_available()) GTEST_SKIP() << "this system does not let pages be watched";
  const int rounds = std::getenv("TERRACE_ALL_ROUNDS") ? 30'000 : 10'000;
  void* const page = mmap(nullptr, k_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  const auto address = reinterpret_cast<std::uint64_t>(page);
  std::atomic<int> round{0};
  std::atomic<int> touched{0};
  std::thread other([&] {
    std::minstd_rand random(1);
    for (int turn = 1; turn <= rounds; ++turn) {
      tests::spin_until([&] { return round.load() >= turn; });
      idle(static_cast<unsigned>(random() % 400));
      *static_cast<volatile char*>(page) = 1;
      touched = turn;
    }
  });
  std::minstd_rand random(2);
  int stuck = 0;
  for (int turn = 1; turn <= rounds; ++turn) {
    madvise(page, k_page, MADV_DONTNEED);
    EXPECT_EQ(faults.register_range(address, k_page), 0);
    round = turn;
    idle(static_cast<unsigned>(random() % 4000));
    EXPECT_EQ(faults.unregister_range(address, k_page), 0);
    using Clock = std::chrono::steady_clock;
    const auto late = Clock::now() + std::chrono::seconds(60);
    tests::spin_until([&] { return touched.load() >= turn || Clock::now() >= late; });
    if (touched.load() == turn) continue;
    ++stuck;
    faults.wake(address, k_page);
    round = rounds;  // lets the other thread finish
    break;
  }
  other.join();
  EXPECT_EQ(stuck, 0);
  munmap(page, k_page);
}

}  // namespace
}  // namespace terrace::transfer
