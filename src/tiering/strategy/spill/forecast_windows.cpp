// SPDX-License-Identifier: Apache-2.0
// Compares forecasts of a thread's touches with the clock, and measures the parameters of the next forecast, for
// BeladyPolicy. See forecast_windows.hpp.
#include "strategy/spill/forecast_windows.hpp"

#include <algorithm>
#include <utility>

namespace terrace::strategy {

namespace {

constexpr std::uint64_t k_enough = 32;  // min events for a measured parameter

}  // namespace

void ForecastWindows::begin(std::uint32_t thread, Seconds now, std::vector<double> expected) {
  thread_ = thread;
  expected_ = std::move(expected);
  touches_ = 0;
  begun_ = now;
  open_ = {};
}

void ForecastWindows::end() {
  closed_ = totals();
  discard();
}

void ForecastWindows::advance(std::size_t touches, Seconds now) {
  touches_ += touches;
  if (touches_ < expected_.size()) open_ = {Seconds{expected_[touches_]}, now - begun_, 1};
  if (touches_ + 1 >= expected_.size()) end();
}

transfer::PredictionTotals ForecastWindows::totals() const {
  return {closed_.predicted + open_.predicted, closed_.measured + open_.measured,
          closed_.segments + open_.segments};
}

SpillState ForecastWindows::state(const transfer::SpillStatistics& measured, bool several) {
  const auto moved = measured.moved - before_.moved;
  if (moved >= k_enough) {
    chunk_s_ = (measured.busy - before_.busy).value / static_cast<double>(moved);
    before_.moved = measured.moved;
    before_.busy = measured.busy;
  }
  const auto written = measured.written - before_.written;
  const auto left = written + measured.clean - before_.clean;
  if (left >= k_enough) {
    write_share_ = static_cast<double>(written) / static_cast<double>(left);
    before_.written = measured.written;
    before_.clean = measured.clean;
  }
  const auto late = measured.demanded - before_.demanded;
  const auto unexpected = measured.unexpected - before_.unexpected;
  const auto loads = late + measured.prefetched - before_.prefetched;
  if (loads >= k_enough) {
    late_share_ = static_cast<double>(late) / static_cast<double>(loads);
    unexpected_share_ = std::min(static_cast<double>(unexpected) / static_cast<double>(loads), 1.0);
    before_.unexpected = measured.unexpected;
    before_.demanded = measured.demanded;
    before_.prefetched = measured.prefetched;
  }
  const auto served = measured.served - before_.served;
  if (served >= k_enough) {
    touch_s_ = (measured.serving - before_.serving).value / static_cast<double>(served);
    before_.served = measured.served;
    before_.serving = measured.serving;
  }
  SpillState state;
  state.room = measured.room;
  state.kept = measured.kept;
  state.under_way = measured.under_way;
  state.chunk_s = chunk_s_;
  state.write_share = write_share_;
  state.late_share = several ? late_share_ : unexpected_share_;
  state.touch_s = touch_s_;
  return state;
}

}  // namespace terrace::strategy
