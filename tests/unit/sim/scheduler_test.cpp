// Tests the scheduler against a plain loop that always runs the thread with the least progress; and threads that
// block in unknown ways.
#include "sim/scheduler/scheduler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "core/futex.hpp"

namespace terrace::sim {
namespace {

using Steps = std::vector<std::uint64_t>;  // of one thread: the progress of each quantum

// Returns the thread of each quantum, if all begin at 0: the one with the lowest (progress, number).
std::vector<std::uint32_t> expected_order(const std::vector<Steps>& threads) {
  std::vector<std::uint32_t> order;
  std::vector<std::uint64_t> progress(threads.size(), 0);
  std::vector<std::size_t> next(threads.size(), 0);
  for (;;) {
    std::size_t who = threads.size();
    for (std::size_t i = 0; i < threads.size(); ++i)
      if (next[i] < threads[i].size() && (who == threads.size() || progress[i] < progress[who])) who = i;
    if (who == threads.size()) return order;
    order.push_back(static_cast<std::uint32_t>(who));
    progress[who] += threads[who][next[who]++];
  }
}

TEST(Scheduler, Dispatch_TakesTheThreadWithLeastProgress) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<Steps> threads(1 + random() % 6);
    for (auto& steps : threads)
      for (auto n = 1 + random() % 40; n > 0; --n) steps.push_back(1 + random() % 5);
    const auto page = std::make_unique<SchedulerPage>();
    constexpr std::uint32_t k_main = 1000;
    Scheduler scheduler(*page, k_main);
    std::vector<std::uint32_t> order;  // written by the running thread only: needs no lock
    std::vector<std::thread> running;
    for (std::uint32_t i = 0; i < threads.size(); ++i) ASSERT_TRUE(scheduler.add_thread(i, k_main));
    for (std::uint32_t i = 0; i < threads.size(); ++i)
      running.emplace_back([&, i] {
        scheduler.enter(i);
        for (const auto step : threads[i]) {
          order.push_back(i);
          scheduler.advance(i, step);
          scheduler.yield(i);
        }
        scheduler.end_thread(i);
      });
    scheduler.end_thread(k_main);
    for (auto& thread : running) thread.join();
    EXPECT_EQ(order, expected_order(threads)) << "round " << round;
    EXPECT_TRUE(scheduler.is_repeatable());
  }
}

TEST(Scheduler, Wait_EndsByWakeOrDeadline) {
  const auto page = std::make_unique<SchedulerPage>();
  Scheduler scheduler(*page, 0);
  bool woken = false;
  bool in_time = true;
  ASSERT_TRUE(scheduler.add_thread(1, 0));
  std::thread other([&] {
    scheduler.enter(1);
    woken = scheduler.wait(1, 42);
    in_time = scheduler.wait(1, 43, scheduler.progress(1) + 1000);
    scheduler.end_thread(1);
  });
  scheduler.advance(0, 10);
  scheduler.yield(0);  // 1 runs, and waits
  scheduler.advance(0, 500);
  std::uint32_t who[4] = {};
  EXPECT_EQ(scheduler.wake(0, 7, 4, who), 0u);
  EXPECT_EQ(scheduler.wake(0, 42, 4, who), 1u);
  EXPECT_EQ(who[0], 1u);
  EXPECT_EQ(scheduler.progress(1), 510u) << "no further behind than who woke it";
  scheduler.advance(0, 5000);
  scheduler.yield(0);
  EXPECT_TRUE(scheduler.has_ended(1));
  other.join();
  EXPECT_TRUE(woken);
  EXPECT_FALSE(in_time);
  EXPECT_TRUE(scheduler.is_repeatable());
  EXPECT_TRUE(scheduler.is_alone());
}

// A thread that polls without an access for what another is to do would stop all threads.
TEST(Scheduler, SpinningThread_LosesItsQuantumAfterSeconds) {
  const auto page = std::make_unique<SchedulerPage>();
  Scheduler scheduler(*page, 0);
  std::atomic<bool> go{false};
  ASSERT_TRUE(scheduler.add_thread(1, 0));
  std::thread other([&] {
    scheduler.enter(1);
    while (!go.load()) continue;
    scheduler.reattach(1);
    scheduler.end_thread(1);
  });
  scheduler.advance(0, 10);
  EXPECT_TRUE(scheduler.yield(0));
  EXPECT_FALSE(scheduler.is_repeatable());
  go.store(true);
  while (!scheduler.has_ended(1)) scheduler.wait(0, 99, scheduler.progress(0) + 1);
  other.join();
}

// A wait that is not intercepted would stop all threads: the quantum is revoked, and the run is not repeatable.
TEST(Scheduler, SleepingThread_LosesItsQuantum) {
  const auto page = std::make_unique<SchedulerPage>();
  Scheduler scheduler(*page, 0);
  std::atomic<std::uint32_t> word{0};
  ASSERT_TRUE(scheduler.add_thread(1, 0));
  std::thread other([&] {
    scheduler.enter(1);
    while (word.load() == 0) futex_wait(word, 0);
    scheduler.reattach(1);
    scheduler.end_thread(1);
  });
  scheduler.advance(0, 10);
  EXPECT_TRUE(scheduler.yield(0));  // returns although 1 never yields
  EXPECT_FALSE(scheduler.is_repeatable());
  word.store(1);
  futex_wake_all(word);
  while (!scheduler.has_ended(1)) scheduler.wait(0, 99, scheduler.progress(0) + 1);
  other.join();
}

}  // namespace
}  // namespace terrace::sim
