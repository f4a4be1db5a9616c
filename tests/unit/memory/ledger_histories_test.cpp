// Random histories of processes that ask, grow, shrink, end, are killed at any instant and scribble over the page.
// An account beside the ledger, in memory that nobody scribbles over, says whether more was handed out than there
// is, and whether what the ledger says at the end is what was handed out.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <optional>
#include <random>

#include "ledger_fixture.hpp"
#include "memory/ledger/dead_slots.hpp"

namespace terrace::memory {
namespace {

constexpr std::size_t k_workers = 4;
constexpr PlaceId k_places = 3;
constexpr int k_pages = 210;
constexpr int k_scribbled_pages = 40;
constexpr int k_lives = 40;  // a page
constexpr std::uint64_t k_unit = 4096;
constexpr std::array<std::uint64_t, k_places> k_units{1000, 60, 7};  // budgets

// Of each place 16 bits for each worker in one word, so that each change is made and seen with all others at once.
struct Account {
  std::array<std::atomic<std::uint64_t>, k_places> units;
  std::array<std::atomic<std::uint64_t>, k_places> most;  // that was ever handed out
  std::array<std::atomic<int>, k_workers> paused;
  std::atomic<int> ends;
  std::atomic<int> passed;  // budgets
  std::atomic<std::uint64_t> taken, refused, scribbles, taken_after_scribbles;

  static std::uint64_t of(std::uint64_t word, std::size_t worker) { return word >> (16 * worker) & 0xffff; }
  static std::uint64_t sum(std::uint64_t word) {
    std::uint64_t total = 0;
    for (std::size_t worker = 0; worker < k_workers; ++worker) total += of(word, worker);
    return total;
  }
  void add(std::size_t worker, PlaceId place, std::uint64_t count) {
    const auto change = count << (16 * worker);
    const auto total = sum(units[place].fetch_add(change) + change);
    if (total > k_units[place]) ++passed;
    for (auto seen = most[place].load(); seen < total && !most[place].compare_exchange_weak(seen, total);) {
    }
  }
  void subtract(std::size_t worker, PlaceId place, std::uint64_t count) {
    units[place].fetch_sub(count << (16 * worker));
  }
  void forget(std::size_t worker) {
    for (auto& word : units) word.fetch_and(~(std::uint64_t{0xffff} << (16 * worker)));
  }
};

struct SharedAccount {
  SharedAccount()
      : account(new (::mmap(nullptr, sizeof(Account), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                    Account{}) {}
  ~SharedAccount() { ::munmap(account, sizeof(Account)); }
  SharedAccount(const SharedAccount&) = delete;
  SharedAccount& operator=(const SharedAccount&) = delete;
  Account* account;
};

// Whoever waits for others leaves them the processor.
void let_others_run() { ::usleep(100); }

// Of random length at a random place, most of them where something is: the owners and amounts of the first slots,
// the words in front of them. Random bytes or zeroes; some of them over both copies.
void scribble(LedgerPage& page, std::mt19937& random) {
  auto* const bytes = reinterpret_cast<unsigned char*>(&page);
  const std::array copies{offsetof(LedgerPage, first), offsetof(LedgerPage, second)};
  const auto copy = random() % 2;
  std::size_t begin = 0;
  std::size_t end = sizeof page;
  switch (random() % 4) {
    case 0:
      begin = copies[copy] + offsetof(LedgerPage::Copy, entries);
      end = begin + (k_workers + 1) * sizeof page.first.entries[0];
      break;
    case 1:
      begin = copies[copy] + offsetof(LedgerPage::Copy, owners);
      end = begin + (k_workers + 1) * sizeof(LedgerPage::Owner);
      break;
    case 2:
      begin = offsetof(LedgerPage, lock);
      end = offsetof(LedgerPage, first);
      break;
    default:
      break;
  }
  const auto at = begin + random() % (end - begin);
  const std::size_t longest = std::array{8, 64, 2048, 65536}[random() % 4];
  const auto size = 1 + random() % longest;
  const bool zeroes = random() % 2 == 0;
  const auto write = [&](std::size_t where) {
    for (std::size_t i = where; i < std::min(where + size, sizeof page); ++i)
      bytes[i] = zeroes ? 0 : static_cast<unsigned char>(random());
  };
  write(at);
  if (at >= copies[0] && random() % 2 == 0) write(at + copies[1 - copy] - copies[copy]);
}

[[noreturn]] void live(Ledger& ledger, LedgerPage& page, Account& account, std::size_t worker, unsigned seed,
                       bool scribbles) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::mt19937 random(seed);
  std::array<std::uint64_t, k_places> mine{};
  const auto length = 20 + random() % 400;
  for (unsigned step = 0; account.ends.load(std::memory_order_relaxed) == 0 && step < length; ++step) {
    const auto place = static_cast<PlaceId>(random() % k_places);
    const auto count = random() % (k_units[place] / 2 + 1) + 1;
    if (scribbles && random() % 256 == 0) {
      ++account.scribbles;
      scribble(page, random);
    } else if (random() % 3 != 0) {
      if (ledger.take(place, {count * k_unit})) {
        account.add(worker, place, count);
        mine[place] += count;
        ++account.taken;
        if (account.scribbles.load() > 0) ++account.taken_after_scribbles;
      } else {
        ++account.refused;
      }
    } else if (mine[place] > 0) {
      const auto back = std::min<std::uint64_t>(count, mine[place]);
      account.subtract(worker, place, back);
      ledger.give(place, {back * k_unit});
      mine[place] -= back;
    }
  }
  if (account.ends.load() == 0) {
    account.forget(worker);
    ::_exit(0);
  }
  account.paused[worker] = 1;
  while (account.ends.load() == 1) let_others_run();
  // Each change puts another part of the own slot right.
  for (std::size_t i = 0; i < k_ledger_places; ++i) ledger.give(0, {0});
  account.paused[worker] = 2;
  while (true) ::pause();
}

class Histories {
 public:
  Histories(unsigned seed, bool scribbles) : random_(seed), scribbles_(scribbles) {
    machine::Budget budget;
    for (const auto units : k_units) budget.push_back({units * k_unit});
    ledger_.emplace(*shared_.page, budget);
  }
  ~Histories() {
    for (const auto process : workers_)
      if (process > 0) ::kill(process, SIGKILL);
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
  }
  Histories(const Histories&) = delete;
  Histories& operator=(const Histories&) = delete;

  void run() {
    for (std::size_t worker = 0; worker < k_workers; ++worker) begin(worker);
    for (int lives = k_workers; lives < k_lives; ++lives) {
      const auto worker = random_() % k_workers;
      for (auto wait = random_() % 64; wait > 0; --wait) ::sched_yield();
      end(worker);
      begin(worker);
      ledger_->give(0, {0});
    }
    pause();
    compare();
    for (std::size_t worker = 0; worker < k_workers; ++worker) end(worker);
    everything_is_free();
  }
  [[nodiscard]] const Account& account() const { return *beside_.account; }
  [[nodiscard]] bool compared() const { return compared_; }
  [[nodiscard]] int killed_with_lock() const { return killed_with_lock_; }

 private:
  void begin(std::size_t worker) {
    const auto seed = static_cast<unsigned>(random_());
    workers_[worker] = ::fork();
    if (workers_[worker] == 0) live(*ledger_, *shared_.page, *beside_.account, worker, seed, scribbles_);
  }
  // It is stopped at any instant, forgotten by the account, and killed where it stands.
  void end(std::size_t worker) {
    const auto process = workers_[worker];
    ::kill(process, SIGSTOP);
    int status = 0;
    ::waitpid(process, &status, WUNTRACED);
    workers_[worker] = 0;
    if (!WIFSTOPPED(status)) return;
    const auto holder = load(shared_.page->lock) & 0xffff;
    if (holder > 0 && holder <= k_ledger_slots) {
      const auto owner = read_owner(*shared_.page, holder - 1);
      if (owner.kind == SlotOwner::Kind::owned && owner.who.process == static_cast<std::uint32_t>(process))
        ++killed_with_lock_;
    }
    beside_.account->forget(worker);
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
  }
  // Those that have ended of themselves begin again, so that all stand still alive.
  void pause() {
    auto& account = *beside_.account;
    account.ends = 1;
    const auto wait_for = [&](int state) {
      for (std::size_t worker = 0; worker < k_workers; ++worker)
        while (account.paused[worker] != state) {
          if (::waitpid(workers_[worker], nullptr, WNOHANG) == workers_[worker]) begin(worker);
          let_others_run();
        }
    };
    wait_for(1);
    account.ends = 2;
    for (std::size_t i = 0; i < k_ledger_places; ++i) ledger_->give(0, {0});
    wait_for(2);
  }
  void compare() {
    // A slot that stray writes have destroyed twice counts as held while a process lives that found no slot.
    if (!thorough_look()) return;
    compared_ = true;
    for (PlaceId place = 0; place < k_places; ++place) {
      const auto handed_out = Account::sum(beside_.account->units[place].load());
      EXPECT_EQ(ledger_->held(place).value, handed_out * k_unit) << "place " << place;
      EXPECT_EQ(ledger_->available(place).value, (k_units[place] - handed_out) * k_unit);
    }
  }
  bool thorough_look() { return !free_dead_slots(*shared_.page, this_process(), true); }
  void everything_is_free() {
    EXPECT_TRUE(thorough_look());
    for (PlaceId place = 0; place < k_places; ++place) {
      EXPECT_TRUE(ledger_->take(place, {k_units[place] * k_unit})) << "place " << place;
      EXPECT_FALSE(ledger_->take(place, {1}));
    }
  }

  std::mt19937 random_;
  bool scribbles_;
  SharedPage shared_;
  SharedAccount beside_;
  std::optional<Ledger> ledger_;
  std::array<pid_t, k_workers> workers_{};
  int killed_with_lock_ = 0;
  bool compared_ = false;
};

void run_histories(unsigned first_seed, int pages, bool scribbles) {
  std::uint64_t taken = 0;
  std::uint64_t refused = 0;
  std::uint64_t after_scribbles = 0;
  std::array<std::uint64_t, k_places> most{};
  int killed_with_lock = 0;
  int compared = 0;
  for (int page = 0; page < pages && !::testing::Test::HasFailure(); ++page) {
    Histories histories(first_seed + static_cast<unsigned>(page), scribbles);
    histories.run();
    const auto& account = histories.account();
    ASSERT_EQ(account.passed.load(), 0) << "page " << page << ": more was handed out than there is";
    taken += account.taken;
    refused += account.refused;
    after_scribbles += account.taken_after_scribbles;
    compared += histories.compared() ? 1 : 0;
    killed_with_lock += histories.killed_with_lock();
    for (PlaceId place = 0; place < k_places; ++place)
      most[place] = std::max(most[place], account.most[place].load());
  }
  // It was put to the test.
  EXPECT_GE(compared, scribbles ? pages / 2 : pages);
  EXPECT_GT(taken, 1000u);
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(killed_with_lock, 0);
  for (PlaceId place = 0; place < k_places; ++place) EXPECT_EQ(most[place], k_units[place]);
  if (scribbles) {
    EXPECT_GT(after_scribbles, 1000u);
  }
  std::printf(
      "%d lives: %lu taken, %lu refused, %lu taken after scribbles, %d killed with the lock, %d of %d pages "
      "compared\n",
      pages * k_lives, taken, refused, after_scribbles, killed_with_lock, compared, pages);
}

TEST(LedgerHistories, OfProcessesThatAskGrowShrinkAndDie) { run_histories(1, k_pages, false); }

TEST(LedgerHistories, OfProcessesThatScribbleAsWell) { run_histories(1000, k_scribbled_pages, true); }

}  // namespace
}  // namespace terrace::memory
