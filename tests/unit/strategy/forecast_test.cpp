// Tests forecasts of out-of-core times: small cases computed by hand, and bounds for random sequences of touches.
#include "strategy/spill/forecast.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace terrace::strategy {
namespace {

using transfer::PageState;
using Touches = std::vector<ExpectedTouch>;

// Returns touches of consecutive chunks from `first` on, with `work` before each.
Touches sweep(ChunkId first, ChunkId end, double work, std::uint32_t thread = 0) {
  Touches touches;
  for (auto c = first; c < end; ++c) touches.push_back({c, thread, work});
  return touches;
}

const auto k_away = [](ChunkId) { return PageState::swapped_out; };
const auto k_quiet = [](ChunkId) { return PageState::mapped; };

SpillState state_with(std::size_t room) {
  SpillState state;
  state.room = room;
  state.chunk_s = 1;
  return state;
}

TEST(Forecast, NoTouches_IsEmpty) { EXPECT_TRUE(forecast({}, state_with(4), k_away).empty()); }

TEST(Forecast, AllInMemory_TakesTheWork) {
  auto state = state_with(10);
  state.present = 10;
  EXPECT_EQ(forecast(sweep(0, 4, 0.5), state, k_quiet), (std::vector{0.5, 1.0, 1.5, 2.0}));
}

// Each noticed touch costs the fault time, and one of eight unnoticed ones.
TEST(Forecast, NoticedTouches_AddFaultTime) {
  auto state = state_with(20);
  state.present = 20;
  state.touch_s = 0.25;
  EXPECT_EQ(forecast(sweep(0, 3, 1), state, [](ChunkId) { return PageState::unmapped_resident; }),
            (std::vector{1.0, 2.25, 3.5}));
  EXPECT_EQ(forecast(sweep(0, 17, 1), state, k_quiet).back(), 17.5);
}

// The thread waits for the first chunk; the others arrive one per second, without work between them.
TEST(Forecast, SlowDisk_DeterminesTheTime) {
  EXPECT_EQ(forecast(sweep(0, 5, 0), state_with(10), k_away), (std::vector{0.0, 1.0, 2.0, 3.0, 4.0}));
  EXPECT_EQ(forecast(sweep(0, 5, 0.5), state_with(10), k_away), (std::vector{0.5, 2.0, 3.0, 4.0, 5.0}));
}

TEST(Forecast, FastDisk_IsWaitedForOnce) {
  EXPECT_EQ(forecast(sweep(0, 5, 3), state_with(10), k_away), (std::vector{3.0, 7.0, 10.0, 13.0, 16.0}));
}

// If all fetches were late so far, nothing is prefetched: work and disk alternate.
TEST(Forecast, LateLoads_AddTheirTime) {
  auto state = state_with(10);
  state.late_share = 1;
  EXPECT_EQ(forecast(sweep(0, 4, 3), state, k_away), (std::vector{3.0, 7.0, 11.0, 15.0}));
  state.late_share = 0.5;
  const auto half = forecast(sweep(0, 5, 3), state, k_away);
  EXPECT_GT(half.back(), 16);
  EXPECT_LT(half.back(), 19);
}

TEST(Forecast, TransfersInFlight_AreServedFirst) {
  auto state = state_with(10);
  state.under_way = 3;
  EXPECT_EQ(forecast(sweep(0, 3, 0), state, k_away), (std::vector{0.0, 4.0, 5.0}));
}

// Memory is full of unused chunks. Each page is written before the next chunk is read into it.
TEST(Forecast, DirtyEvictions_OccupyTheDisk) {
  auto state = state_with(10);
  state.present = 10;
  EXPECT_EQ(forecast(sweep(0, 5, 0), state, k_away).back(), 4);
  state.write_share = 1;
  EXPECT_EQ(forecast(sweep(0, 5, 0), state, k_away).back(), 8);
  state.write_share = 0.5;
  EXPECT_EQ(forecast(sweep(0, 5, 0), state, k_away).back(), 6);
}

// Two rounds over 40 chunks with space for 30: Belady's rule reads 40 and then 10, and eight more because
// prefetched chunks take space. LRU would read 80.
TEST(Forecast, FullMemory_EvictsLastUse) {
  auto touches = sweep(0, 40, 0);
  const auto again = sweep(0, 40, 0);
  touches.insert(touches.end(), again.begin(), again.end());
  const auto times = forecast(touches, state_with(30), k_away);
  EXPECT_EQ(times[39], 39);
  EXPECT_GE(times.back(), 50);
  EXPECT_LE(times.back(), 58);
}

TEST(Forecast, EmptyChunk_NeedsNoTransfer) {
  auto state = state_with(4);
  state.write_share = 1;
  const auto empty = [](ChunkId) { return PageState::empty; };
  EXPECT_EQ(forecast(sweep(0, 20, 1), state, empty).back(), 20);
}

// Two threads with two chunks each on one disk; the other thread's loads are between those of the first.
TEST(Forecast, SeveralThreads_ShareTheDisk) {
  const Touches touches = {{0, 0, 0}, {10, 1, 0}, {1, 0, 0}, {11, 1, 0}, {2, 0, 0}};
  EXPECT_EQ(forecast(touches, state_with(10), k_away), (std::vector{0.0, 1.0, 3.0}));
  // Alone it waits for its own fetches only.
  EXPECT_EQ(forecast(sweep(0, 3, 0), state_with(10), k_away), (std::vector{0.0, 1.0, 2.0}));
}

struct Random {
  Touches touches;
  SpillState state;
  std::vector<PageState> residence;
  bool in_order = false;  // sweeps
};

Random random_case(std::mt19937& random) {
  const auto pick = [&](std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(random);
  };
  Random one;
  const auto chunks = pick(2, 60);
  const auto threads = pick(1, 3);
  one.state = state_with(pick(10, 60));
  one.state.chunk_s = 1e-3;
  one.state.write_share = static_cast<double>(pick(0, 4)) / 4;
  one.state.kept = pick(0, 4);
  one.state.touch_s = 1e-5 * static_cast<double>(pick(0, 3));
  for (std::size_t c = 0; c < chunks; ++c) {
    constexpr PageState k_all[] = {PageState::swapped_out, PageState::mapped, PageState::unmapped_resident,
                                   PageState::empty};
    auto where = k_all[pick(0, 3)];
    const bool comes = where == PageState::mapped || where == PageState::unmapped_resident;
    if (comes && one.state.present == one.state.room) where = PageState::swapped_out;
    one.state.present += comes && where != PageState::swapped_out ? 1 : 0;
    one.residence.push_back(where);
  }
  one.in_order = pick(0, 1) == 0;
  const auto work = 1e-4 * static_cast<double>(pick(0, 30));
  for (std::size_t i = pick(1, 300); i > 0; --i)
    one.touches.push_back({static_cast<ChunkId>(one.in_order ? i % chunks : pick(0, chunks - 1)),
                           static_cast<std::uint32_t>(pick(0, threads - 1)), work});
  one.touches.front().thread = 0;
  return one;
}

TEST(Forecast, RandomTouches_AtLeastWorkAndDiskTime) {
  std::mt19937 random(11);
  for (int i = 0; i < 2000; ++i) {
    const auto one = random_case(random);
    const auto times = forecast(one.touches, one.state, [&](ChunkId c) { return one.residence[c]; });
    double work = 0;
    std::set<ChunkId> read;
    std::size_t at = 0;
    for (const auto& touch : one.touches) {
      if (touch.thread != 0) continue;
      work += touch.work;
      ASSERT_GE(times[at], work * (1 - 1e-9)) << "case " << i;
      // All of its chunks on disk have been read before.
      const auto disk = static_cast<double>(read.size()) * one.state.chunk_s;
      ASSERT_GE(times[at], disk * (1 - 1e-9)) << "case " << i << " touch " << at;
      if (one.residence[touch.chunk] == PageState::swapped_out) read.insert(touch.chunk);
      ++at;
    }
    ASSERT_EQ(times.size(), at);
    ASSERT_TRUE(std::ranges::is_sorted(times));
  }
}

// Only for one thread, because with several the order decides which one waits; and for chunks with content,
// because the page of an empty chunk may be written after prefetches. Only few chunks are prefetched, so that
// victims are not always optimal: for random orders a few more chunks may be read.
TEST(Forecast, MoreCapacity_IsNotSlower) {
  std::mt19937 random(12);
  for (int i = 0; i < 4000; ++i) {
    auto one = random_case(random);
    for (auto& touch : one.touches) touch.thread = 0;
    std::ranges::replace(one.residence, PageState::empty, PageState::swapped_out);
    const auto seconds = [&] {
      return forecast(one.touches, one.state, [&](ChunkId c) { return one.residence[c]; }).back();
    };
    const auto with_less = seconds();
    for (int more = 0; more < 3; ++more) {
      one.state.room += 4;
      const auto chunk = one.state.chunk_s * (1 + one.state.write_share);  // what comes in, and what leaves for it
      ASSERT_LE((seconds() - with_less) / chunk, (one.in_order ? 1 : 4) + 1e-6) << "case " << i;
    }
  }
}

}  // namespace
}  // namespace terrace::strategy
