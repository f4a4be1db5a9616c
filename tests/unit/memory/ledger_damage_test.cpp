// Tests the ledger with processes that died in unusual ways and with stray writes; demands and reservations.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "ledger_fixture.hpp"
#include "memory/ledger/dead_slots.hpp"

namespace terrace::memory {
namespace {

// A child process that holds memory until it is told to end.
class Child {
 public:
  template <class Body>
  explicit Child(Body body) {
    int ready[2];
    if (::pipe(ready) != 0) return;
    process_ = ::fork();
    if (process_ == 0) {
      body();
      char byte = 0;
      (void)!::write(ready[1], &byte, 1);
      while (true) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    (void)!::read(ready[0], &byte, 1);
    ::close(ready[0]);
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  void end() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }
  // Waits until the child is a zombie.
  void end_unasked() const {
    ::kill(process_, SIGKILL);
    siginfo_t about;
    ::waitid(P_PID, static_cast<id_t>(process_), &about, WEXITED | WNOWAIT);
  }
  [[nodiscard]] pid_t process() const { return process_; }

 private:
  pid_t process_ = 0;
};

SlotOwner owner_of(const LedgerPage& page, pid_t process, std::size_t& slot) {
  for (slot = 0; slot < used_slots(page); ++slot) {
    const auto owner = read_owner(page, slot);
    if (owner.kind == SlotOwner::Kind::owned && owner.who.process == static_cast<std::uint32_t>(process))
      return owner;
  }
  return {};
}

TEST(LedgerDamage, Zombie_HoldsNothing) {
  const SharedPage shared;
  Ledger ledger(*shared.page, {{100}});
  const Child child([&] { ledger.take(0, {60}); });
  EXPECT_FALSE(ledger.take(0, {41}));
  shared.page->last_thorough_search_ns = 0;
  child.end_unasked();
  EXPECT_TRUE(ledger.take(0, {100}));
}

TEST(LedgerDamage, ReusedProcessNumber_HoldsNothing) {
  const SharedPage shared;
  Ledger ledger(*shared.page, {{100}});
  const Child child([&] { ledger.take(0, {60}); });
  std::size_t slot = 0;
  const auto owner = owner_of(*shared.page, child.process(), slot);
  auto older = owner.who;
  --older.start;
  free_slot(*shared.page, slot, owner);
  ASSERT_TRUE(claim(*shared.page, slot, read_owner(*shared.page, slot), older));
  EXPECT_TRUE(ledger.take(0, {100}));
}

// Takes bytes after thorough searches for owners. A search is inconclusive, and the bytes count as held, while any
// process of this user has no first thread: its mappings cannot be read, and another test may have such a process.
bool takes_after_search(Ledger& ledger, LedgerPage& page, Bytes bytes) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    page.last_thorough_search_ns = 0;
    if (ledger.take(0, bytes)) return true;
  }
  return false;
}

TEST(LedgerDamage, ZeroedPage_CountsAsFull) {
  const SharedPage shared;
  Ledger ledger(*shared.page, {{100}});
  Child child([&] { ledger.take(0, {60}); });
  std::memset(static_cast<void*>(shared.page), 0, sizeof(LedgerPage));
  EXPECT_FALSE(ledger.take(0, {41})) << "the process of the destroyed slot is alive";
  EXPECT_EQ(ledger.available(0), Bytes{0});
  EXPECT_EQ(ledger.held(0), Bytes{100});
  child.end();
  EXPECT_TRUE(takes_after_search(ledger, *shared.page, {100}));
}

// A process whose first thread has ended continues in the others, although /proc shows no mappings.
TEST(LedgerDamage, ProcessWithoutFirstThread_IsAlive) {
  const SharedPage shared;
  Ledger ledger(*shared.page, {{100}});
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const auto child = ::fork();
  if (child == 0) {
    ledger.take(0, {60});
    std::thread([&] {
      while (!process_state(static_cast<std::uint32_t>(::getpid()))->first_thread_ended) ::sched_yield();
      char byte = 0;
      (void)!::write(ready[1], &byte, 1);
      while (true) ::pause();
    }).detach();
    ::syscall(SYS_exit, 0);  // ends this thread only
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_FALSE(ledger.take(0, {41}));
  std::memset(static_cast<void*>(shared.page), 0, sizeof(LedgerPage));
  EXPECT_FALSE(ledger.take(0, {41}));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(takes_after_search(ledger, *shared.page, {100}));
}

TEST(LedgerDamage, OneDamagedCopy_LosesNothing) {
  for (std::size_t which = 0; which < 2; ++which) {
    const SharedPage shared;
    Ledger ledger(*shared.page, {{100}});
    Child child([&] { ledger.take(0, {60}); });
    std::memset(static_cast<void*>(&shared.page->copy(which)), 0x5a, sizeof(LedgerPage::Copy));
    EXPECT_TRUE(ledger.take(0, {40}));
    EXPECT_FALSE(ledger.take(0, {1}));
    child.end();
    EXPECT_EQ(ledger.available(0), Bytes{60});
  }
}

TEST(LedgerDamage, SlotDamagedDuringScan_KeepsItsOwner) {
  const SharedPage shared;
  Ledger ledger(*shared.page, {{100}});
  const Child child([&] { ledger.take(0, {60}); });
  std::size_t slot = 0;
  const auto tag = owner_of(*shared.page, child.process(), slot).tags[0];
  ASSERT_LT(slot, used_slots(*shared.page));
  std::atomic<bool> ends = false;
  std::thread looks([&] {
    while (!ends) release_dead_slots(*shared.page, this_process(), true);
  });
  auto kind = SlotOwner::Kind::unknown;
  for (int round = 0; round < 200 && kind != SlotOwner::Kind::vacant; ++round) {
    // Until the second copy is destroyed as well, the scan finds the process.
    store(shared.page->first.owners[slot].tag, std::uint64_t{1});
    ::usleep(500);
    store(shared.page->second.owners[slot].tag, std::uint64_t{2});
    ::usleep(2000);
    kind = read_owner(*shared.page, slot).kind;
    if (kind == SlotOwner::Kind::vacant) break;
    store(shared.page->second.owners[slot].tag, tag);
    store(shared.page->first.owners[slot].tag, tag);
    ::usleep(500);
  }
  ends = true;
  looks.join();
  EXPECT_NE(kind, SlotOwner::Kind::vacant);
}

// A scan for dead processes finds a zeroed slot. Before the scan frees it, another scan has freed it, a process
// has claimed it, and a stray write has zeroed its owner again (ABA).
TEST(LedgerDamage, SlotDamagedTwiceAlike_IsNotFreedAfterOneScan) {
  const SharedPage shared;
  auto& page = *shared.page;
  constexpr std::size_t k_slot = 3;
  const auto zeroes = [&] {
    for (std::size_t which = 0; which < 2; ++which) store(page.copy(which).owners[k_slot].tag, std::uint64_t{0});
  };
  const auto looked = [&] {
    auto found = read_owner(page, k_slot);
    EXPECT_EQ(found.kind, SlotOwner::Kind::unknown);
    EXPECT_TRUE(retag_damaged(page, k_slot, found, this_process()));
    return found;
  };
  zeroes();
  const auto late = looked();
  free_slot(page, k_slot, looked());
  ASSERT_TRUE(claim(page, k_slot, read_owner(page, k_slot), this_process()));
  write_amount(page, k_slot, 0, {60, 0});
  zeroes();
  free_slot(page, k_slot, late);
  EXPECT_EQ(read_owner(page, k_slot).kind, SlotOwner::Kind::unknown);
}

// Repeats it with continuous scans: a process owns one slot while another slot, of a dead process, is zeroed. Then
// the process owns only that other slot, which is zeroed again.
TEST(LedgerDamage, SlotChangeDuringScan_KeepsTheNewSlot) {
  const SharedPage shared;
  auto& page = *shared.page;
  Ledger ledger(page, {{100}});
  const Child child([&] { ledger.take(0, {60}); });
  std::size_t slot = 0;
  const auto who = owner_of(page, child.process(), slot).who;
  const auto other = used_slots(page);
  raise_used_slots(page, other + 1);
  std::atomic<bool> ends = false;
  std::thread looks([&] {
    while (!ends) release_dead_slots(page, this_process(), true);
  });
  const auto zeroes = [&](std::size_t at) {
    for (std::size_t which = 0; which < 2; ++which) store(page.copy(which).owners[at].tag, std::uint64_t{0});
  };
  const auto give = [&](std::size_t at) {
    while (!claim(page, at, read_owner(page, at), who)) {
    }
  };
  int lost = 0;
  for (int round = 0; round < 300; ++round) {
    zeroes(other);
    ::usleep(static_cast<unsigned>(round * 37 % 3000));
    give(other);
    zeroes(slot);
    zeroes(other);
    ::usleep(4000);
    lost += read_owner(page, other).kind == SlotOwner::Kind::vacant ? 1 : 0;
    give(slot);
  }
  ends = true;
  looks.join();
  EXPECT_EQ(lost, 0);
}

// A damaged second copy does not become that of a vacant slot.
TEST(LedgerDamage, DamagedSecondCopy_StaysInvalid) {
  const SharedPage shared;
  auto& page = *shared.page;
  ASSERT_TRUE(claim(page, 3, read_owner(page, 3), this_process()));
  store(page.second.owners[3].tag, std::uint64_t{0});
  free_slot(page, 3, read_owner(page, 3));
  EXPECT_EQ(read_owner(page, 3).kind, SlotOwner::Kind::vacant);
  EXPECT_EQ(load(page.second.owners[3].tag), 0U);
}

TEST(LedgerDamage, ChangedSlot_IsNotRetagged) {
  const SharedPage shared;
  auto& page = *shared.page;
  store(page.first.owners[3].tag, std::uint64_t{1});
  auto found = read_owner(page, 3);
  store(page.first.owners[3].tag, std::uint64_t{2});
  EXPECT_FALSE(retag_damaged(page, 3, found, this_process()));
  EXPECT_EQ(load(page.first.owners[3].tag), 2U);
}

TEST(LedgerDamage, DamagedSlot_IsRepairedByItsProcess) {
  static int said = 0;
  said = 0;
  const SharedPage shared;
  Ledger ledger(*shared.page, {{100}, {10}}, {.say = [](const char*) { ++said; }});
  ASSERT_TRUE(ledger.take(0, {60}));
  for (int round = 0; round < 2; ++round) {
    std::memset(static_cast<void*>(&shared.page->first), 0, sizeof(LedgerPage::Copy));
    std::memset(static_cast<void*>(&shared.page->second), 0, sizeof(LedgerPage::Copy));
    ASSERT_FALSE(read_amount(*shared.page, 0, 0));
    EXPECT_TRUE(ledger.take(0, {1})) << "it knows its own amounts";
    EXPECT_EQ(read_owner(*shared.page, 0).kind, SlotOwner::Kind::owned);
    EXPECT_EQ(read_amount(*shared.page, 0, 0)->held, 61u + static_cast<unsigned>(round));
  }
  EXPECT_EQ(said, 1);
}

TEST(LedgerDamage, ExecutedProgram_GetsANewSlot) {
  const SharedPage shared;
  Ledger ledger(*shared.page, {{100}});
  // The identity of the process before exec.
  auto before = this_process();
  ++before.image;
  ASSERT_TRUE(claim(*shared.page, 1, read_owner(*shared.page, 1), before));
  write_amount(*shared.page, 1, 0, {70, 0});
  raise_used_slots(*shared.page, 2);
  EXPECT_TRUE(ledger.take(0, {100}));
}

TEST(LedgerDemands, UnusedShares_AreReserved) {
  const SharedPage shared;
  Ledger ledger(*shared.page, {{100 << 12}});
  Child child([&] {
    ledger.set_demand(0, {.weight = 3});
    ledger.take(0, {10 << 12});
  });
  EXPECT_EQ(ledger.available(0), Bytes{0}) << "without a demand: what exceeds the shares of others";
  ledger.set_demand(0, {.weight = 1});
  EXPECT_EQ(ledger.share(0), Bytes{25 << 12});
  EXPECT_EQ(ledger.available(0), Bytes{25 << 12});
  EXPECT_FALSE(ledger.take(0, {26 << 12}));
  EXPECT_TRUE(ledger.take(0, {25 << 12}));
  EXPECT_FALSE(ledger.take(0, {1}));
  child.end();
  EXPECT_EQ(ledger.available(0), Bytes{75 << 12}) << "a dead process has no demand";
  ledger.set_demand(0, {.weight = 0});
  EXPECT_EQ(ledger.share(0), Bytes{100 << 12});
}

TEST(LedgerDemands, RestBeyondQuotas_IsFirstComeFirstServed) {
  const SharedPage shared;
  Ledger ledger(*shared.page, {{100 << 12}});
  const Child child([&] { ledger.set_demand(0, {.quota = 30 << 12}); });
  EXPECT_EQ(ledger.available(0), Bytes{70 << 12});
  EXPECT_TRUE(ledger.take(0, {70 << 12}));
  EXPECT_FALSE(ledger.take(0, {1 << 12}));
}

TEST(LedgerReservations, Outstanding_UntilCommittedOrProcessDies) {
  const SharedPage shared;
  Ledger ledger(*shared.page, {{100}});
  std::uint64_t free = 50;
  const Ledger::FreeMemory system{
      [](void* context, PlaceId) { return Bytes{*static_cast<std::uint64_t*>(context)}; }, &free};
  Child child([&] { ledger.reserve(0, {20}, system); });
  EXPECT_EQ(ledger.outstanding(0), Bytes{20});
  EXPECT_FALSE(ledger.reserve(0, {31}, system)) << "within the budget, but not free in the system";
  EXPECT_TRUE(ledger.reserve(0, {30}, system));
  EXPECT_EQ(ledger.outstanding(0), Bytes{50});
  free = 20;
  ledger.commit_reserved(0, {30});
  EXPECT_EQ(ledger.outstanding(0), Bytes{20});
  EXPECT_EQ(ledger.held(0), Bytes{50});
  EXPECT_FALSE(ledger.reserve(0, {1}, system));
  child.end();
  EXPECT_EQ(ledger.outstanding(0), Bytes{0});
  EXPECT_EQ(ledger.held(0), Bytes{30});
  EXPECT_TRUE(ledger.reserve(0, {20}, system));
  ledger.give(0, {50});
  EXPECT_EQ(ledger.outstanding(0), Bytes{0}) << "released bytes are no longer outstanding";
}

}  // namespace
}  // namespace terrace::memory
