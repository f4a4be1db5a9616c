// Tests ordered fill by several concurrent processes, some of which are killed.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>

#include "ordered_fill_fixture.hpp"

namespace terrace::memory {
namespace {

// Pages that another process has reserved and is populating count twice for a moment. Without waiting, the fill
// would leave a place that still has free memory.
TEST_F(OrderedFillTest, ConcurrentReservation_WaitsBeforeNextPlace) {
  Ledger ledger(*shared_.page, whole());
  ModelSystem system(*machine_, 0);
  std::array<int, 2> to{};
  std::array<int, 2> from{};
  ASSERT_EQ(::pipe(to.data()), 0);
  ASSERT_EQ(::pipe(from.data()), 0);
  // The other process leaves 20 pages above the watermark of place 0, and has populated 40 of its last 64.
  const auto child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ModelSystem others(*machine_, 1);
    const auto before = above_watermark(0) - 20 - 64;
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
    ledger.commit_reserved(0, {64 * k_page});
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
  RecordedParts parts;
  const std::array<PlaceId, k_places> order{0, 1, 2};
  EXPECT_EQ(fill.fill(2 * k_address, 50 * k_page, order, OrderedFill::Content::none, parts).error, 0);
  EXPECT_EQ(pauses, 1);
  EXPECT_EQ(pages_on(system, 0), 20U);
  EXPECT_EQ(pages_on(system, 1), 30U);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

// Random histories: several processes fill concurrently in different orders, and are killed at any instant. Their
// total always fits above the watermarks, so no watermark is ever passed.
TEST_F(OrderedFillTest, KilledProcesses_NeverPassAWatermark) {
  constexpr int k_rounds = 12;
  constexpr int k_lives = 24;
  constexpr std::uint64_t k_max = 5200;  // pages of one process: 4 x 5200 < 0.9 x 25000
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
      ModelSystem system(*machine_, worker);
      OrderedFill fill(ledger, system, k_places, k_settings);
      std::array<PlaceId, k_places> order{0, 1, 2};
      std::ranges::shuffle(order, own);
      std::uint64_t mine = 0;
      for (std::uint64_t at = k_address; mine < k_max; at += 1ULL << 32) {
        const auto pages = std::min<std::uint64_t>(1 + own() % 1500, k_max - mine);
        RecordedParts parts;
        if (fill.fill(at, pages * k_page, order, OrderedFill::Content::none, parts).error != 0) ::_exit(1);
        for (const auto& part : parts.all)
          if (part.held != part.size) ::_exit(2);
        mine += pages;
      }
      ::_exit(system.pages.size() == k_max ? 0 : 3);
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
        // Its pages are freed after its death, as by the kernel.
        ::kill(workers[worker], SIGKILL);
        ::waitpid(workers[worker], &status, 0);
        ++killed;
      } else {
        EXPECT_EQ(WEXITSTATUS(status), 0);
        ++filled;
      }
      machine_->release_all(worker);
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
      EXPECT_LE(machine_->peak[place].load(), above_watermark(place)) << "round " << round << ", place " << place;
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
