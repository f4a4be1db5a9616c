// Tests the comparison of forecasts with the clock, and the measured parameters of forecasts.
#include "strategy/spill/forecast_windows.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "strategy/spill/belady_policy.hpp"

namespace terrace::strategy {
namespace {

using transfer::PageState;
using transfer::SpillStatistics;

TEST(ForecastWindows, OpenWindow_CountsUpToTheThread) {
  ForecastWindows windows;
  EXPECT_FALSE(windows.is_open());
  windows.begin(3, Seconds{10}, {0, 1, 2, 4});
  EXPECT_EQ(windows.thread(), 3U);
  EXPECT_EQ(windows.totals().segments, 0U);
  windows.advance(2, Seconds{13});
  EXPECT_EQ(windows.totals().predicted.value, 2);
  EXPECT_EQ(windows.totals().measured.value, 3);
  EXPECT_EQ(windows.totals().segments, 1U);
  windows.advance(0, Seconds{13.5});  // unexpected ones are not in the prediction, but take time
  EXPECT_EQ(windows.totals().measured.value, 3.5);
  windows.advance(1, Seconds{15});
  EXPECT_FALSE(windows.is_open());
  EXPECT_EQ(windows.totals().predicted.value, 4);
  EXPECT_EQ(windows.totals().measured.value, 5);
}

TEST(ForecastWindows, TouchBeyondEnd_ClosesWindowBeforeIt) {
  ForecastWindows windows;
  windows.begin(0, Seconds{0}, {0, 1, 2, 3});
  windows.advance(2, Seconds{2});
  windows.advance(5, Seconds{9});
  EXPECT_FALSE(windows.is_open());
  EXPECT_EQ(windows.totals().predicted.value, 2);
  EXPECT_EQ(windows.totals().measured.value, 2);
}

TEST(ForecastWindows, DiscardedWindow_DoesNotCount) {
  ForecastWindows windows;
  windows.begin(0, Seconds{0}, {0, 1, 2});
  windows.advance(2, Seconds{4});
  windows.begin(0, Seconds{4}, {0, 1, 2, 3});
  windows.advance(1, Seconds{7});
  windows.discard();
  EXPECT_EQ(windows.totals().predicted.value, 2);
  EXPECT_EQ(windows.totals().measured.value, 4);
  EXPECT_EQ(windows.totals().segments, 1U);
}

SpillStatistics measured_after(std::uint64_t chunks, double busy) {
  SpillStatistics measured;
  measured.moved = chunks;
  measured.busy = Seconds{busy};
  return measured;
}

TEST(ForecastWindows, DiskTime_IsMeasuredSinceTheLastCall) {
  ForecastWindows windows;
  EXPECT_EQ(windows.state(measured_after(100, 1), false).chunk_s, 0.01);
  EXPECT_EQ(windows.state(measured_after(110, 3), false).chunk_s, 0.01) << "ten chunks do not tell";
  EXPECT_NEAR(windows.state(measured_after(200, 3), false).chunk_s, 0.02, 1e-12) << "with those ten";
}

TEST(ForecastWindows, Shares_CoverTheSameEvents) {
  ForecastWindows windows;
  SpillStatistics measured;
  measured.written = 30, measured.clean = 10;
  measured.demanded = 20, measured.unexpected = 10, measured.prefetched = 20;
  measured.served = 100, measured.serving = Seconds{0.01};
  measured.room = 50, measured.kept = 3, measured.under_way = 2;
  const auto first = windows.state(measured, false);
  EXPECT_EQ(first.write_share, 0.75);
  EXPECT_EQ(first.late_share, 0.25) << "the unexpected ones alone";
  EXPECT_EQ(windows.state(measured, true).late_share, 0.5);
  EXPECT_NEAR(first.touch_s, 1e-4, 1e-12);
  EXPECT_EQ(first.room, 50U);
  EXPECT_EQ(first.kept, 3U);
  EXPECT_EQ(first.under_way, 2U);
  measured.clean += 40;
  measured.prefetched += 40;
  EXPECT_EQ(windows.state(measured, false).write_share, 0);
  EXPECT_EQ(windows.state(measured, false).late_share, 0);
}

// A repeated sweep in little memory: all chunks are on disk when they are touched. The program takes 2 ms per
// chunk, the disk 1.
class Sweep {
 public:
  double disk = 1e-3;
  void round(double work = 2e-3) {
    for (ChunkId c = 0; c < k_chunks; ++c) touch(c, work);
  }
  void touch(ChunkId chunk, double work) {
    time_ += work;
    next_.on_access(chunk, 0, Seconds{work});
    SpillStatistics measured;
    measured.now = Seconds{time_};
    measured.room = k_room;
    measured.moved = measured.demanded = measured.unexpected = measured.clean = ++moved_;
    measured.busy = Seconds{busy_ += disk};
    told_ = next_.predicted(measured);
    time_ += disk;
    next_.on_state_change(chunk, PageState::mapped);
    present_.push_back(chunk);
    if (present_.size() <= k_room) return;
    next_.on_state_change(present_.front(), PageState::swapped_out);
    present_.pop_front();
  }
  [[nodiscard]] const transfer::PredictionTotals& told() const { return told_; }

 private:
  static constexpr ChunkId k_chunks = 200;
  static constexpr std::size_t k_room = 4;
  BeladyPolicy next_;
  std::deque<ChunkId> present_;
  double time_ = 0, busy_ = 0;
  std::uint64_t moved_ = 0;
  transfer::PredictionTotals told_;
};

TEST(ForecastWindows, RepeatedSweep_IsPredicted) {
  Sweep sweep;
  sweep.round();
  EXPECT_EQ(sweep.told().segments, 0U) << "nothing is known in the first round";
  for (int i = 0; i < 5; ++i) sweep.round();
  EXPECT_GE(sweep.told().segments, 3U);
  EXPECT_GT(sweep.told().measured.value, 0.8 * 5 * 200 * 3e-3);
}

// After some steady rounds, work and disk take other times: the round takes as long as these, and was predicted
// like the rounds before.
void expect_as_before(double work, double disk) {
  Sweep sweep;
  for (int i = 0; i < 4; ++i) sweep.round();
  const auto before = sweep.told();
  sweep.disk = disk;
  for (ChunkId c = 0; c < 100; ++c) sweep.touch(c, work);
  const auto after = sweep.told();
  const auto measured = (after.measured - before.measured).value;
  EXPECT_NEAR(measured, 100 * (work + disk), 0.1 * measured);
  EXPECT_NEAR((after.predicted - before.predicted).value, 100 * 3e-3, 0.1 * measured);
}

TEST(ForecastWindows, WorkChanges_PredictionStays) { expect_as_before(3.8e-3, Sweep{}.disk); }

TEST(ForecastWindows, DiskChanges_PredictionStays) { expect_as_before(2e-3, 6e-3); }

// As long as nothing changes, the measured time equals the predicted one, whatever work and disk take.
TEST(ForecastWindows, UnchangedProgram_TakesThePredictedTime) {
  for (const double disk : {0.5e-3, 1e-3, 4e-3}) {
    Sweep sweep;
    sweep.disk = disk;
    for (int i = 0; i < 8; ++i) sweep.round();
    const auto& told = sweep.told();
    EXPECT_GE(told.segments, 5U);
    EXPECT_GT(told.predicted.value, 0.8 * told.measured.value) << disk;
    EXPECT_LT(told.predicted.value, 1.2 * told.measured.value) << disk;
  }
}

TEST(ForecastWindows, DeviatingThread_WindowIsDiscarded) {
  Sweep sweep;
  for (int i = 0; i < 4; ++i) sweep.round();
  const auto before = sweep.told();
  for (ChunkId c = 300; c < 400; ++c) sweep.touch(c, 2e-3);
  EXPECT_LT(sweep.told().segments, before.segments) << "the one that was under way";
  EXPECT_LT(sweep.told().measured, before.measured);
}

}  // namespace
}  // namespace terrace::strategy
