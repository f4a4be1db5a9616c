// Tests random histories of processes that acquire, reserve, populate, shrink, state demands, end, are killed at
// any instant and write stray data over the page. Every eighth is killed while it holds the page's lock, to which
// the test steps it by ptrace: of those killed at a random instant few hold it, and on a busy machine none. A
// history is one page, from the first of its processes to the last. An independent record, in memory without stray
// writes, tells whether more was granted than exists, and whether the final state of the ledger is right.
//
// TERRACE_HISTORIES: number of histories, two of five with stray writes; 250 without it (`make soak`).
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>

#include "ledger_fixture.hpp"
#include "ledger_worker.hpp"
#include "memory/ledger/dead_slots.hpp"

namespace terrace::memory {
namespace {

constexpr int k_histories = 250;
constexpr int k_min_lives = 8;  // in a history
constexpr int k_max_lives = 24;
constexpr int k_max_steps = 5'000;  // instructions until the lock; a step costs some 20 us

struct SharedAccount {
  SharedAccount()
      : account(new (::mmap(nullptr, sizeof(Account), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                    Account{}) {}
  ~SharedAccount() { ::munmap(account, sizeof(Account)); }
  SharedAccount(const SharedAccount&) = delete;
  SharedAccount& operator=(const SharedAccount&) = delete;
  Account* account;
};

// Yields the processor to the other processes.
void let_others_run() { ::usleep(100); }

// Performs a stray write of random length at a random offset, mostly over used data: the owners and amounts of the
// first slots, and the header. Writes random bytes or zeros; some writes cover both copies.
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

[[noreturn]] void live(Ledger& ledger, LedgerPage& page, Account& account, std::size_t number, unsigned seed,
                       bool scribbles) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::mt19937 random(seed);
  Worker worker(ledger, account, number, random);
  const auto length = 20 + random() % 400;
  for (unsigned step = 0; account.ends.load(std::memory_order_relaxed) == 0 && step < length; ++step) {
    if (scribbles && random() % 256 == 0) {
      ++account.scribbles;
      scribble(page, random);
    } else {
      worker.step();
    }
    account.begun[number] = 1;
  }
  if (account.ends.load() == 0) {
    account.forget(number);
    ::_exit(0);
  }
  account.paused[number] = 1;
  while (account.ends.load() == 1) let_others_run();
  // Each change repairs another part of the own slot.
  for (std::size_t i = 0; i < k_ledger_places; ++i) ledger.give(0, {0});
  worker.state_no_demand();
  account.paused[number] = 2;
  while (true) ::pause();
}

class History {
 public:
  History(unsigned seed, bool scribbles) : random_(seed), scribbles_(scribbles) {
    machine::Budget budget;
    for (const auto units : k_units) budget.push_back({units * k_unit});
    ledger_.emplace(*shared_.page, budget);
  }
  ~History() {
    for (const auto process : workers_)
      if (process > 0) ::kill(process, SIGKILL);
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
  }
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  void run() {
    for (std::size_t worker = 0; worker < k_workers; ++worker) begin(worker);
    const auto most = k_min_lives + static_cast<int>(random_() % (k_max_lives - k_min_lives + 1));
    for (lives_ = k_workers; lives_ < most; ++lives_) {
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
  [[nodiscard]] const Account& account() const { return *record_.account; }
  [[nodiscard]] bool compared() const { return compared_; }
  [[nodiscard]] int lives() const { return lives_; }
  [[nodiscard]] int killed_with_lock() const { return killed_with_lock_; }
  [[nodiscard]] int traced() const { return traced_; }

 private:
  void begin(std::size_t worker) {
    const auto seed = static_cast<unsigned>(random_());
    record_.account->begun[worker] = 0;
    workers_[worker] = ::fork();
    if (workers_[worker] == 0) live(*ledger_, *shared_.page, *record_.account, worker, seed, scribbles_);
  }
  // Stops the worker at any instant, removes it from the record, and kills it.
  void end(std::size_t worker) {
    const auto process = workers_[worker];
    workers_[worker] = 0;
    // Workers that pause at the end of a history take no lock.
    const bool steps = record_.account->ends == 0 && ends_++ % 8 == 0;
    if (!(steps ? step_into_lock(process, worker) : stop(process))) return;
    if (holds_lock(process)) ++killed_with_lock_;
    record_.account->forget(worker);
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
  }
  // Returns false if the worker had ended.
  static bool stop(pid_t process) {
    ::kill(process, SIGSTOP);
    int status = 0;
    ::waitpid(process, &status, WUNTRACED);
    return WIFSTOPPED(status);
  }
  // Stops the worker after it has executed a random number of instructions with the lock. Returns false if it
  // ended before. Stops it anywhere if the system allows no tracing.
  bool step_into_lock(pid_t process, std::size_t worker) {
    while (record_.account->begun[worker] == 0) {  // its start-up has many instructions and takes no lock
      if (::waitpid(process, nullptr, WNOHANG) == process) return false;
      let_others_run();
    }
    if (::ptrace(PTRACE_SEIZE, process, nullptr, nullptr) != 0) return stop(process);
    ++traced_;
    ::ptrace(PTRACE_INTERRUPT, process, nullptr, nullptr);
    auto within = random_() % 1024;
    for (int steps = 0; steps < k_max_steps; ++steps) {
      int status = 0;
      ::waitpid(process, &status, 0);
      if (!WIFSTOPPED(status)) return false;
      if (holds_lock(process) && within-- == 0) break;
      ::ptrace(PTRACE_SINGLESTEP, process, nullptr, nullptr);
    }
    return true;
  }
  [[nodiscard]] bool holds_lock(pid_t process) const {
    const auto holder = load(shared_.page->lock) & 0xffff;
    if (holder == 0 || holder > k_ledger_slots) return false;
    const auto owner = read_owner(*shared_.page, holder - 1);
    return owner.kind == SlotOwner::Kind::owned && owner.who.process == static_cast<std::uint32_t>(process);
  }
  // Restarts workers that have ended, so that all are alive.
  void pause() {
    auto& account = *record_.account;
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
    // A slot whose copies are both destroyed counts as held while a process without a slot is alive.
    compared_ = thorough_look(3);
    const auto& account = *record_.account;
    for (PlaceId place = 0; place < k_places; ++place) {
      const auto handed_out = Account::sum(account.units[place].load());
      const auto waiting =
          Account::sum(account.reserved[place].load()) - Account::sum(account.pages[place].load());
      EXPECT_GE(ledger_->held(place).value, handed_out * k_unit) << "place " << place;
      if (!compared_) continue;
      EXPECT_EQ(ledger_->held(place).value, handed_out * k_unit) << "place " << place;
      EXPECT_EQ(ledger_->outstanding(place).value, waiting * k_unit) << "place " << place;
      EXPECT_EQ(ledger_->available(place).value, (k_units[place] - handed_out) * k_unit);
    }
  }
  // Retries, because any process of this machine that is just ending counts as one that can write the page.
  bool thorough_look(int attempts) {
    for (; attempts > 0; --attempts) {
      if (!release_dead_slots(*shared_.page, this_process(), true)) return true;
      let_others_run();
    }
    return false;
  }
  void everything_is_free() {
    EXPECT_TRUE(thorough_look(1000));
    for (PlaceId place = 0; place < k_places; ++place) {
      EXPECT_TRUE(ledger_->take(place, {k_units[place] * k_unit})) << "place " << place;
      EXPECT_FALSE(ledger_->take(place, {1}));
    }
  }

  std::mt19937 random_;
  bool scribbles_;
  SharedPage shared_;
  SharedAccount record_;
  std::optional<Ledger> ledger_;
  std::array<pid_t, k_workers> workers_{};
  int ends_ = 0;
  int traced_ = 0;
  int killed_with_lock_ = 0;
  int lives_ = 0;
  bool compared_ = false;
};

// Returns the number of histories, by the environment or a default for every test run; `of_five` is the share.
int histories(int of_five) {
  const char* const wanted = std::getenv("TERRACE_HISTORIES");
  return std::max(20, (wanted ? std::atoi(wanted) : k_histories) * of_five / 5);
}

void run_histories(unsigned first_seed, int count, bool scribbles) {
  std::uint64_t taken = 0;
  std::uint64_t populated = 0;
  std::uint64_t stated = 0;
  std::uint64_t refused = 0;
  std::uint64_t after_scribbles = 0;
  std::array<std::uint64_t, k_places> most{};
  int lives = 0;
  int traced = 0;
  int killed_with_lock = 0;
  int compared = 0;
  for (int number = 0; number < count && !::testing::Test::HasFailure(); ++number) {
    History history(first_seed + static_cast<unsigned>(number), scribbles);
    history.run();
    const auto& account = history.account();
    ASSERT_EQ(account.passed.load(), 0) << "history " << number << ": more was granted than the budget";
    ASSERT_EQ(account.overfull.load(), 0) << "history " << number << ": more was reserved than exists";
    taken += account.taken;
    populated += account.populated;
    stated += account.stated;
    refused += account.refused;
    after_scribbles += account.taken_after_scribbles;
    lives += history.lives();
    compared += history.compared() ? 1 : 0;
    traced += history.traced();
    killed_with_lock += history.killed_with_lock();
    for (PlaceId place = 0; place < k_places; ++place)
      most[place] = std::max(most[place], account.most[place].load());
  }
  // Checks that the histories exercised all operations.
  EXPECT_GE(compared, scribbles ? count / 3 * 2 : count);
  EXPECT_GT(taken, 1000u);
  EXPECT_GT(populated, 1000u);
  EXPECT_GT(stated, 1000u);
  EXPECT_GT(refused, 1000u);
  if (traced > 0) {
    EXPECT_GT(killed_with_lock, 0);
  }
  for (PlaceId place = 0; place < k_places; ++place) EXPECT_EQ(most[place], k_units[place]);
  if (scribbles) {
    EXPECT_GT(after_scribbles, 1000u);
  }
  std::printf(
      "%d histories%s of %d lives: %lu times taken or reserved, %lu populated, %lu refused, %lu demands "
      "stated, "
      "%lu "
      "taken after scribbles, %d killed with the lock, %d traced; %d compared with their processes alive, all "
      "with them "
      "dead\n",
      count, scribbles ? " with scribbles" : "", lives, taken, populated, refused, stated, after_scribbles,
      killed_with_lock, traced, compared);
}

TEST(LedgerHistories, RandomProcesses_NeverExceedBudget) { run_histories(1, histories(3), false); }

TEST(LedgerHistories, RandomStrayWrites_NeverExceedBudget) { run_histories(1'000'000, histories(2), true); }

}  // namespace
}  // namespace terrace::memory
