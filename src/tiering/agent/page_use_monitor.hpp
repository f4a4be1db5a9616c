// SPDX-License-Identifier: Apache-2.0
// Monitors an uninstrumented program from a background thread; UninstrumentedMonitor owns it. In short windows it
// asks the kernel, or the processor's sampling, which pages were used, and passes the result to the collector.
// Divides the run into intervals if the program marks no phases.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "core/clock.hpp"
#include "core/units.hpp"
#include "observe/collecting/sampling_overhead.hpp"
#include "runtime/session/profile_source.hpp"

namespace terrace::observe {
class PageWatch;
class WatchedPagesCollector;
}  // namespace terrace::observe

namespace terrace::runtime {
class Runtime;
}  // namespace terrace::runtime

namespace terrace::agent {

// Chooses how the program is observed. If its pages are monitored, disables hooks in the session.
runtime::ProfileSource choose_observation(runtime::Session& session);

class PageUseMonitor {
 public:
  // Share of a processor's time that a window may cost: clearing and reading, and the program's faults on cleared
  // pages. While a strategy learns, and later.
  static constexpr double k_share_learning = observe::k_max_reference_share;
  static constexpr double k_share_later = k_share_learning / 10;
  // Minimum windows and duration of an interval.
  static constexpr std::uint32_t k_windows = 8;
  static constexpr Seconds k_min_interval{0.5};

  // Time without a loop of calls or functions until intervals serve a plan whose phases come from such a loop.
  static constexpr Seconds k_patience{5};

  // Borrows all arguments. `mutex` guards the collector. `clock` is the run's. The session's events sample memory
  // accesses, if the machine has such events.
  PageUseMonitor(observe::WatchedPagesCollector& collector, std::mutex& mutex, Clock& clock,
                 const runtime::Session& session);
  ~PageUseMonitor();
  PageUseMonitor(const PageUseMonitor&) = delete;
  PageUseMonitor& operator=(const PageUseMonitor&) = delete;

  // Sets the runtime. Called before begin().
  void report_to(runtime::Runtime& runtime) noexcept;
  // Suspends intervals while `has_loop` returns true. Called before begin().
  void yield_to(std::function<bool()> has_loop);
  // Starts the thread, if watched pages serve a purpose. Called once, by the allocating thread, when there is
  // enough data to monitor.
  void begin() noexcept;
  // Stops the thread, at the latest after the current window.
  void end() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace terrace::agent
