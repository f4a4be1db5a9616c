// Tests the ledger against plain arithmetic, with forked processes that share its page, and with dead ones.
#include "memory/ledger.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <thread>

#include "core/error.hpp"
#include "ledger_fixture.hpp"

namespace terrace::memory {
namespace {

TEST(Ledger, Take_UpToBudget) {
  const auto page = std::make_unique<LedgerPage>();
  Ledger ledger(*page, {{100}, {0}, {~0ull}});
  EXPECT_TRUE(ledger.take(0, {60}));
  EXPECT_FALSE(ledger.take(0, {41}));
  EXPECT_EQ(ledger.available(0), Bytes{40});
  EXPECT_TRUE(ledger.take(0, {40}));
  EXPECT_FALSE(ledger.take(0, {1}));
  EXPECT_FALSE(ledger.take(1, {1}));
  EXPECT_TRUE(ledger.take(1, {0}));
  EXPECT_TRUE(ledger.take(2, {~0ull})) << "an overflowing sum is refused";
  EXPECT_FALSE(ledger.take(2, {1}));
  ledger.give(0, {30});
  EXPECT_EQ(ledger.held(0), Bytes{70});
}

TEST(Ledger, RandomTraffic_EqualsPlainArithmetic) {
  const auto page = std::make_unique<LedgerPage>();
  const machine::Budget budget{{1000}, {5000}, {200}};
  Ledger ledger(*page, budget);
  std::map<PlaceId, std::uint64_t> truth;
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    const auto place = static_cast<PlaceId>(random() % 3);
    const std::uint64_t size = random() % 300;
    if (random() % 2 == 0) {
      const bool fits = truth[place] + size <= budget[place].value;
      ASSERT_EQ(ledger.take(place, {size}), fits);
      if (fits) truth[place] += size;
    } else {
      const auto back = std::min(size, truth[place]);
      ledger.give(place, {back});
      truth[place] -= back;
    }
    ASSERT_EQ(ledger.held(place).value, truth[place]);
  }
}

TEST(Ledger, ProcessesOfAJob_ShareAccounts) {
  const SharedPage shared;
  Ledger ours(*shared.page, {{100}});
  ASSERT_TRUE(ours.take(0, {30}));
  int ready[2], finish[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(finish), 0);
  const auto child = ::fork();
  if (child == 0) {
    Ledger theirs(*shared.page, {{100}});
    const bool right = theirs.take(0, {50}) && !theirs.take(0, {21}) && theirs.available(0) == Bytes{20};
    char byte = right ? 1 : 0;
    (void)!::write(ready[1], &byte, 1);
    (void)!::read(finish[0], &byte, 1);
    ::_exit(0);
  }
  char right = 0;
  ASSERT_EQ(::read(ready[0], &right, 1), 1);
  EXPECT_EQ(right, 1);
  EXPECT_EQ(ours.held(0), Bytes{80});
  EXPECT_EQ(ours.held_by_others(0), Bytes{50});
  EXPECT_FALSE(ours.take(0, {21}));
  ASSERT_EQ(::write(finish[1], &right, 1), 1);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(ours.held(0), Bytes{30}) << "a dead process holds nothing";
  EXPECT_EQ(ours.held_by_others(0), Bytes{0});
}

TEST(Ledger, ForkedChild_HoldsNothing) {
  const SharedPage shared;
  Ledger ledger(*shared.page, {{100}});
  ASSERT_TRUE(ledger.take(0, {30}));
  EXPECT_EQ(in_child([&] {
              ledger.give(0, {30});  // the child does not hold it
              const bool kept = ledger.held(0) == Bytes{30};
              return kept && ledger.take(0, {70}) && !ledger.take(0, {1}) ? 0 : 1;
            }),
            0);
  EXPECT_EQ(ledger.held(0), Bytes{30});
}

TEST(Ledger, LockOfDeadProcess_IsTakenOver) {
  const SharedPage shared;
  Ledger ledger(*shared.page, {{100}});
  ASSERT_EQ(in_child([&] {
              Ledger theirs(*shared.page, {{100}});  // the second slot
              shared.page->lock = 2;
              ::_exit(0);
              return 0;
            }),
            0);
  EXPECT_TRUE(ledger.take(0, {10}));
  EXPECT_EQ(shared.page->lock, 0u);
}

TEST(Ledger, SlotsOfDeadProcesses_AreReused) {
  const SharedPage shared;
  Ledger ledger(*shared.page, {{1000}});
  for (std::size_t i = 0; i < k_ledger_slots + 20; ++i) {
    ASSERT_EQ(in_child([&] { return ledger.take(0, {900}) ? 0 : 1; }), 0) << i;
  }
  EXPECT_EQ(ledger.held(0), Bytes{0});
}

TEST(Ledger, ConcurrentThreads_StayWithinBudget) {
  const auto page = std::make_unique<LedgerPage>();
  Ledger ledger(*page, {{1000}});
  std::atomic<std::uint64_t> held{0};
  std::atomic<int> passed{0};
  const auto work = [&] {
    for (int i = 0; i < 3000; ++i) {
      if (!ledger.take(0, {400})) continue;
      if (held.fetch_add(400) + 400 > 1000) ++passed;
      held.fetch_sub(400);
      ledger.give(0, {400});
    }
  };
  std::thread a(work), b(work), c(work);
  a.join();
  b.join();
  c.join();
  EXPECT_EQ(passed.load(), 0);
  EXPECT_EQ(ledger.held(0), Bytes{0});
}

TEST(Ledger, TooManyPlaces_Throws) {
  const auto page = std::make_unique<LedgerPage>();
  EXPECT_THROW(Ledger(*page, machine::Budget(k_ledger_places + 1)), Error);
}

}  // namespace
}  // namespace terrace::memory
