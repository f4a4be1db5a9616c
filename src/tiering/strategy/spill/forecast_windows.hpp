// SPDX-License-Identifier: Apache-2.0
// Compares the forecasts of BeladyPolicy with the clock. A window is a sequence of a thread's touches whose time
// was predicted when it began. One window is open at a time; it counts as far as the thread has come.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units.hpp"
#include "strategy/spill/forecast.hpp"
#include "transfer/spill/replacement_policy.hpp"

namespace terrace::strategy {

class ForecastWindows {
 public:
  [[nodiscard]] bool is_open() const { return !expected_.empty(); }
  [[nodiscard]] std::uint32_t thread() const { return thread_; }
  // Opens a window. `expected`: the seconds to each touch from the present one, by forecast().
  void begin(std::uint32_t thread, Seconds now, std::vector<double> expected);
  // Advances the thread by `touches` touches. A touch beyond the end closes the window at the touch before.
  void advance(std::size_t touches, Seconds now);
  // Discards the open window.
  void discard() { expected_.clear(), open_ = {}; }
  [[nodiscard]] transfer::PredictionTotals totals() const;

  // Returns the parameters of the next forecast, measured since the last call if there are enough events. With
  // `several` threads their order is random, so chunks are late as often as before. With one thread the forecast
  // itself finds late chunks, except for unexpected ones.
  [[nodiscard]] SpillState state(const transfer::SpillStatistics& measured, bool several);

 private:
  void end();

  transfer::PredictionTotals closed_, open_;
  std::uint32_t thread_ = 0;
  std::vector<double> expected_;
  std::size_t touches_ = 0;  // since it began
  Seconds begun_;
  transfer::SpillStatistics before_;
  double chunk_s_ = 0, write_share_ = 0, late_share_ = 0, unexpected_share_ = 0, touch_s_ = 0;
};

}  // namespace terrace::strategy
