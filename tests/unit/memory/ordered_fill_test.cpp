// Ordered spill against a system of our own making, whose account of each page is the independent truth.
#include "memory/ordered/ordered_fill.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <map>
#include <random>

#include "core/rounding.hpp"
#include "ledger_fixture.hpp"

namespace terrace::memory {
namespace {

constexpr std::size_t k_places = 3;
constexpr std::size_t k_workers = 4;
constexpr std::uint64_t k_batch = 64 * k_page;
constexpr std::array<std::uint64_t, k_places> k_totals{8000, 5000, 12000};  // pages
constexpr std::uint64_t k_reserved = 100;                                   // pages, of each place

// Pages in use: of each place 16 bits for each worker in one word, so that each change is seen whole.
struct Machine {
  std::array<std::atomic<std::uint64_t>, k_places> used;
  std::array<std::atomic<std::uint64_t>, k_places> most;  // that were ever in use
  std::atomic<std::uint64_t> kills;                       // nothing was left anywhere
  std::atomic<std::uint64_t> fallbacks;                   // a page did not come from where it was wanted

  static std::uint64_t sum(std::uint64_t word) {
    std::uint64_t total = 0;
    for (std::size_t worker = 0; worker < k_workers; ++worker) total += word >> (16 * worker) & 0xffff;
    return total;
  }
  static std::uint64_t of(std::uint64_t word, std::size_t worker) { return word >> (16 * worker) & 0xffff; }
  bool take(std::size_t worker, PlaceId place) {
    for (auto word = used[place].load();;) {
      if (sum(word) >= k_totals[place]) return false;
      if (!used[place].compare_exchange_weak(word, word + (std::uint64_t{1} << (16 * worker)))) continue;
      const auto now = sum(word) + 1;
      for (auto seen = most[place].load(); seen < now && !most[place].compare_exchange_weak(seen, now);) {
      }
      return true;
    }
  }
  void forget(std::size_t worker) {
    for (auto& word : used) word.fetch_and(~(std::uint64_t{0xffff} << (16 * worker)));
  }
};

// The kernel as one worker sees it. Pages come from the preferred place, and where it has none from the others.
class System final : public PlaceSystem {
 public:
  System(Machine& machine, std::size_t worker, std::uint64_t total_of_last = k_totals[2])
      : machine_(machine), worker_(worker), total_of_last_(total_of_last) {}
  [[nodiscard]] std::uint64_t total(PlaceId place) const noexcept override {
    return (place == 2 ? total_of_last_ : k_totals[place]) * k_page;
  }
  [[nodiscard]] std::uint64_t reserve(PlaceId) const noexcept override { return k_reserved * k_page; }
  [[nodiscard]] std::uint64_t free(PlaceId place) noexcept override {
    return (k_totals[place] - Machine::sum(machine_.used[place].load())) * k_page;
  }
  int prefer(std::uint64_t address, std::uint64_t size, PlaceId place) noexcept override {
    if (place == refuses) return EPERM;
    for (auto at = address; at < address + size; at += k_page) policy[at] = place;
    return 0;
  }
  int populate(std::uint64_t address, std::uint64_t size) noexcept override {
    for (auto at = address; at < address + size; at += k_page) {
      if (pages.contains(at)) continue;
      if (at % (16 * k_page) == 0) ::sched_yield();
      const auto wanted = policy.at(at);
      if (machine_.take(worker_, wanted)) {
        pages[at] = wanted;
        continue;
      }
      ++machine_.fallbacks;
      PlaceId other = 0;
      while (other < k_places && !machine_.take(worker_, other)) ++other;
      if (other == k_places)
        ++machine_.kills;
      else
        pages[at] = other;
    }
    return 0;
  }
  int bring(std::uint64_t address, std::uint64_t size, PlaceId place) noexcept override {
    for (auto at = address; at < address + size; at += k_page) {
      const auto found = pages.find(at);
      if (found == pages.end() || found->second == place) continue;
      if (!machine_.take(worker_, place)) return ENOMEM;
      machine_.used[found->second].fetch_sub(std::uint64_t{1} << (16 * worker_));
      found->second = place;
    }
    return 0;
  }
  int where(std::uint64_t address, std::span<PlaceId> places) noexcept override {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto found = pages.find(address + i * k_page);
      places[i] = found == pages.end() ? k_no_place : found->second;
    }
    return 0;
  }
  void pause() noexcept override {
    if (on_pause)
      on_pause();
    else
      ::usleep(50);
  }

  // Puts a page there, as if it had been touched.
  void touch(std::uint64_t address, PlaceId place) {
    ASSERT_TRUE(machine_.take(worker_, place));
    pages[address] = place;
  }

  std::map<std::uint64_t, PlaceId> policy, pages;
  PlaceId refuses = k_no_place;
  std::function<void()> on_pause;

 private:
  Machine& machine_;
  std::size_t worker_;
  std::uint64_t total_of_last_;
};

struct Parts final : OrderedFill::Progress {
  void open(std::uint64_t, std::uint64_t size) noexcept override { opened += size; }
  void placed(const OrderedFill::Part& part) noexcept override { all.push_back(part); }
  std::uint64_t opened = 0;
  std::vector<OrderedFill::Part> all;
};

constexpr OrderedFill::Settings k_settings{
    .mark = 0.1, .batch = {k_batch}, .large = {8 * k_batch}, .slack = {32 * k_page}, .least = {k_page}};

class OrderedFillTest : public ::testing::Test {
 protected:
  OrderedFillTest()
      : machine_(new (::mmap(nullptr, sizeof(Machine), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                     Machine{}) {}
  ~OrderedFillTest() override { ::munmap(machine_, sizeof(Machine)); }

  static std::uint64_t above_mark(PlaceId place) {
    return k_totals[place] - static_cast<std::uint64_t>(0.1 * static_cast<double>(k_totals[place]));
  }
  static machine::Budget whole() {
    machine::Budget budget;
    for (const auto pages : k_totals) budget.push_back({pages * k_page});
    return budget;
  }
  // The parts cover the range, one behind the other, and every page is where its part says.
  static void expect_parts_are_true(const Parts& parts, const System& system, std::uint64_t address,
                                    std::uint64_t size) {
    auto at = address;
    for (const auto& part : parts.all) {
      ASSERT_EQ(part.address, at);
      for (auto page = at; page < at + part.size; page += k_page) {
        if (part.place == k_no_place) {
          ASSERT_FALSE(system.pages.contains(page));
        } else if (part.held > 0) {
          ASSERT_TRUE(system.pages.contains(page));
          ASSERT_EQ(system.pages.at(page), part.place);
        }
      }
      at += part.size;
    }
    EXPECT_EQ(at, address + size);
    EXPECT_EQ(parts.opened, size);
  }
  static std::uint64_t pages_on(const System& system, PlaceId place) {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(system.pages, [&](const auto& page) { return page.second == place; }));
  }

  SharedPage shared_;
  Machine* machine_;
};

constexpr std::uint64_t k_address = 1ULL << 40;

TEST_F(OrderedFillTest, EachPlaceIsFilledToItsMarkAndTheNextGoesOn) {
  std::array<PlaceId, k_places> order{0, 1, 2};
  do {
    std::destroy_at(machine_);
    std::construct_at(machine_);
    Ledger ledger(*shared_.page, whole());
    System system(*machine_, 0);
    OrderedFill fill(ledger, system, k_places, k_settings);
    Parts parts;
    const auto first = above_mark(order[0]);
    const auto second = above_mark(order[1]);
    const auto size = (first + second + 777) * k_page;
    // Not at a batch's boundary.
    EXPECT_EQ(fill.fill(k_address + 5 * k_page, size, order, OrderedFill::Content::none, parts).error, 0);
    expect_parts_are_true(parts, system, k_address + 5 * k_page, size);
    std::uint64_t page = 0;
    for (const auto& [address, place] : system.pages) {
      ASSERT_EQ(place, page < first ? order[0] : page < first + second ? order[1] : order[2]) << "page " << page;
      ++page;
    }
    EXPECT_EQ(ledger.held(order[0]).value, first * k_page);
    EXPECT_EQ(ledger.held(order[2]).value, 777 * k_page);
    for (PlaceId place = 0; place < k_places; ++place) EXPECT_EQ(ledger.outstanding(place).value, 0u);
  } while (std::ranges::next_permutation(order).found);
}

TEST_F(OrderedFillTest, BehindAllMarksThePlaceWithTheMostRoomServesAndNobodyIsKilled) {
  Ledger ledger(*shared_.page, whole());
  System system(*machine_, 0);
  OrderedFill fill(ledger, system, k_places, k_settings);
  const std::array<PlaceId, k_places> order{1, 2, 0};
  std::uint64_t marks = 0;
  std::uint64_t all = 0;
  for (PlaceId place = 0; place < k_places; ++place) {
    marks += above_mark(place);
    all += k_totals[place];
  }
  Parts parts;
  // The largest place has the most left: it is next.
  const auto more = 300 * k_page;
  EXPECT_EQ(fill.fill(k_address, marks * k_page + more, order, OrderedFill::Content::none, parts).error, 0);
  EXPECT_EQ(pages_on(system, 2), above_mark(2) + 300);
  // More than there is: down to what the system keeps, and no further.
  Parts rest;
  EXPECT_EQ(fill.fill(2 * k_address, all * k_page, order, OrderedFill::Content::none, rest).error, ENOMEM);
  expect_parts_are_true(rest, system, 2 * k_address, all * k_page);
  for (PlaceId place = 0; place < k_places; ++place) {
    EXPECT_LE(machine_->most[place].load(), k_totals[place] - k_reserved);
    EXPECT_GT(machine_->most[place].load(), k_totals[place] - k_reserved - 1);
  }
  EXPECT_EQ(machine_->kills.load(), 0u);
  EXPECT_EQ(machine_->fallbacks.load(), 0u);
}

TEST_F(OrderedFillTest, ABudgetIsKept) {
  auto budget = whole();
  budget[0] = {1000 * k_page};
  Ledger ledger(*shared_.page, budget);
  System system(*machine_, 0);
  OrderedFill fill(ledger, system, k_places, k_settings);
  Parts parts;
  const std::array<PlaceId, k_places> order{0, 1, 2};
  EXPECT_EQ(fill.fill(k_address, 3000 * k_page, order, OrderedFill::Content::none, parts).error, 0);
  EXPECT_EQ(pages_on(system, 0), 1000u);
  EXPECT_EQ(pages_on(system, 1), 2000u);
}

TEST_F(OrderedFillTest, APlaceThatTheSystemRefusesIsPassedOver) {
  Ledger ledger(*shared_.page, whole());
  System system(*machine_, 0);
  system.refuses = 0;
  OrderedFill fill(ledger, system, k_places, k_settings);
  Parts parts;
  const std::array<PlaceId, k_places> order{0, 1, 2};
  EXPECT_EQ(fill.fill(k_address, 500 * k_page, order, OrderedFill::Content::none, parts).error, EPERM);
  EXPECT_EQ(pages_on(system, 1), 500u);
  EXPECT_EQ(ledger.held(0).value, 0u);
  EXPECT_EQ(ledger.outstanding(0).value, 0u);
}

TEST_F(OrderedFillTest, APlaceWithoutMemoryOfTheSystemIsPassedOver) {
  Ledger ledger(*shared_.page, whole());
  System system(*machine_, 0, 0);
  OrderedFill fill(ledger, system, k_places, k_settings);
  Parts parts;
  const std::array<PlaceId, k_places> order{2, 1, 0};
  EXPECT_EQ(fill.fill(k_address, 500 * k_page, order, OrderedFill::Content::none, parts).error, 0);
  EXPECT_EQ(pages_on(system, 1), 500u);
}

// What is there is moved, or stays where it is better off; what is not there comes.
TEST_F(OrderedFillTest, MemoryThatIsThereIsPutInOrder) {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    std::destroy_at(machine_);
    std::construct_at(machine_);
    SharedPage page;
    Ledger ledger(*page.page, whole());
    System system(*machine_, 0);
    const auto count = 1 + random() % 12000;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto kind = random() % 8;
      if (kind < 3 && Machine::sum(machine_->used[kind].load()) < above_mark(static_cast<PlaceId>(kind)))
        system.touch(k_address + i * k_page, static_cast<PlaceId>(kind));
    }
    OrderedFill fill(ledger, system, k_places, k_settings);
    Parts parts;
    const std::array<PlaceId, k_places> order{0, 1, 2};
    OrderedFill::Outcome outcome;
    std::size_t passes = 0;
    do {
      ASSERT_LE(++passes, k_places);
      for (const auto& part : parts.all)
        if (part.place != k_no_place) ledger.give(part.place, {part.held});
      parts = {};
      outcome = fill.fill(k_address, count * k_page, order, OrderedFill::Content::some, parts);
      ASSERT_EQ(outcome.error, 0);
    } while (outcome.again);
    expect_parts_are_true(parts, system, k_address, count * k_page);
    ASSERT_EQ(system.pages.size(), count);
    std::array<std::uint64_t, k_places> on{};
    PlaceId last = 0;
    for (const auto& [address, place] : system.pages) {
      ++on[place];
      ASSERT_GE(place, last) << "the parts are contiguous, in the ordering's order";
      last = place;
    }
    if (last > 0) {
      EXPECT_EQ(on[0], above_mark(0)) << "nothing is left there that there is room for";
    }
    for (PlaceId place = 0; place < k_places; ++place) {
      EXPECT_EQ(on[place], Machine::sum(machine_->used[place].load()));
      EXPECT_EQ(ledger.held(place).value, on[place] * k_page);
      EXPECT_LE(machine_->most[place].load(), above_mark(place));
    }
  }
}

// What another has reserved and populates just now counts twice for a moment: who did not wait would leave a place
// that still has room.
TEST_F(OrderedFillTest, APlaceIsNotLeftWhileAnotherIsHalfDone) {
  Ledger ledger(*shared_.page, whole());
  System system(*machine_, 0);
  std::array<int, 2> to{};
  std::array<int, 2> from{};
  ASSERT_EQ(::pipe(to.data()), 0);
  ASSERT_EQ(::pipe(from.data()), 0);
  // The other leaves 20 pages above the mark of place 0, and has populated 40 of its last 64.
  const auto child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    System others(*machine_, 1);
    const auto before = above_mark(0) - 20 - 64;
    if (!ledger.take(0, {before * k_page})) ::_exit(1);
    for (std::uint64_t i = 0; i < before; ++i) others.touch(k_address + i * k_page, 0);
    struct Unlimited {
      static Bytes of(void*, PlaceId) { return {1ULL << 40}; }
    };
    if (!ledger.reserve(0, {64 * k_page}, {Unlimited::of, nullptr})) ::_exit(1);
    std::uint64_t done = before;
    const auto take = [&](std::uint64_t pages) {
      for (const auto end = done + pages; done < end; ++done) others.touch(k_address + done * k_page, 0);
    };
    take(40);
    char byte = 0;
    if (::write(from[1], &byte, 1) != 1 || ::read(to[0], &byte, 1) != 1) ::_exit(1);
    take(24);
    ledger.populated(0, {64 * k_page});
    if (::write(from[1], &byte, 1) != 1 || ::read(to[0], &byte, 1) != 1) ::_exit(1);
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(from[0], &byte, 1), 1);
  int pauses = 0;
  system.on_pause = [&] {
    if (pauses++ > 0) return;
    EXPECT_EQ(::write(to[1], &byte, 1), 1);
    EXPECT_EQ(::read(from[0], &byte, 1), 1);
  };
  OrderedFill fill(ledger, system, k_places, k_settings);
  Parts parts;
  const std::array<PlaceId, k_places> order{0, 1, 2};
  EXPECT_EQ(fill.fill(2 * k_address, 50 * k_page, order, OrderedFill::Content::none, parts).error, 0);
  EXPECT_EQ(pauses, 1);
  EXPECT_EQ(pages_on(system, 0), 20U);
  EXPECT_EQ(pages_on(system, 1), 30U);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

// Random histories: several processes fill at once in orders of their own, and are killed at any instant. There is
// always room above some mark for all that they may have, so no mark is ever passed.
TEST_F(OrderedFillTest, ProcessesThatFillAtOnceAndDieNeverPassAMark) {
  constexpr int k_rounds = 12;
  constexpr int k_lives = 24;
  constexpr std::uint64_t k_most = 5200;  // pages of one process: 4 x 5200 < 0.9 x 25000
  std::mt19937 random(5);
  std::uint64_t killed = 0;
  std::uint64_t filled = 0;
  for (int round = 0; round < k_rounds; ++round) {
    std::destroy_at(machine_);
    std::construct_at(machine_);
    SharedPage page;
    Ledger ledger(*page.page, whole());
    std::array<pid_t, k_workers> workers{};
    const auto begin = [&](std::size_t worker) {
      const auto seed = static_cast<unsigned>(random());
      workers[worker] = ::fork();
      if (workers[worker] != 0) return;
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      std::mt19937 own(seed);
      System system(*machine_, worker);
      OrderedFill fill(ledger, system, k_places, k_settings);
      std::array<PlaceId, k_places> order{0, 1, 2};
      std::ranges::shuffle(order, own);
      std::uint64_t mine = 0;
      for (std::uint64_t at = k_address; mine < k_most; at += 1ULL << 32) {
        const auto pages = std::min<std::uint64_t>(1 + own() % 1500, k_most - mine);
        Parts parts;
        if (fill.fill(at, pages * k_page, order, OrderedFill::Content::none, parts).error != 0) ::_exit(1);
        for (const auto& part : parts.all)
          if (part.held != part.size) ::_exit(2);
        mine += pages;
      }
      ::_exit(system.pages.size() == k_most ? 0 : 3);
    };
    const auto end = [&](std::size_t worker, bool kill) {
      int status = 0;
      if (kill) {
        ::kill(workers[worker], SIGSTOP);
        ::waitpid(workers[worker], &status, WUNTRACED);
      } else {
        ::waitpid(workers[worker], &status, 0);
      }
      if (kill && WIFSTOPPED(status)) {
        // Its pages come back when it is dead, as the kernel's do.
        ::kill(workers[worker], SIGKILL);
        ::waitpid(workers[worker], &status, 0);
        ++killed;
      } else {
        EXPECT_EQ(WEXITSTATUS(status), 0);
        ++filled;
      }
      machine_->forget(worker);
    };
    for (std::size_t worker = 0; worker < k_workers; ++worker) begin(worker);
    for (int life = 0; life < k_lives; ++life) {
      ::usleep(static_cast<useconds_t>(random() % 2000));
      const auto worker = random() % k_workers;
      end(worker, true);
      begin(worker);
    }
    for (std::size_t worker = 0; worker < k_workers; ++worker) end(worker, false);
    for (PlaceId place = 0; place < k_places; ++place) {
      EXPECT_LE(machine_->most[place].load(), above_mark(place)) << "round " << round << ", place " << place;
      EXPECT_EQ(ledger.held(place).value, 0u);
      EXPECT_EQ(ledger.outstanding(place).value, 0u);
    }
    EXPECT_EQ(machine_->kills.load() + machine_->fallbacks.load(), 0u);
  }
  EXPECT_GT(killed, 50u);
  EXPECT_GT(filled, 40u);
}

}  // namespace
}  // namespace terrace::memory
