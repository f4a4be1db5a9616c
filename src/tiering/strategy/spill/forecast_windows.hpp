// Stretches of a thread's touches: what was predicted for each when it began, against the clock. One at a time;
// the last one counts as far as the thread has come.
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
  // `expected`: the seconds to each touch from the one that comes now, as forecast() says.
  void begin(std::uint32_t thread, Seconds now, std::vector<double> expected);
  // The thread has come on by so many touches. A touch behind the end ends the stretch where it was before.
  void advance(std::size_t touches, Seconds now);
  // It counts not at all.
  void discard() { expected_.clear(), open_ = {}; }
  [[nodiscard]] transfer::PredictionTotals totals() const;

  // The latest of what was measured: since the last time that this was asked, where that is enough to tell. Of
  // `several` threads it is chance which one is first, so what is expected comes late as often as it did; for one
  // the forecast itself finds what comes late, but for what was not expected.
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
