// A program without hooks, watched from beside it: a thread of Terrace's asks the kernel in short windows which
// pages were used, tells the collector, and cuts the run into intervals where the program marks no phases.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/clock.hpp"
#include "core/units.hpp"
#include "observe/collecting/sampling_overhead.hpp"
#include "runtime/session/profile_source.hpp"

namespace terrace::observe {
class PageWatch;
struct PerfEvent;
class WatchedPagesCollector;
}  // namespace terrace::observe

namespace terrace::runtime {
class Runtime;
}  // namespace terrace::runtime

namespace terrace::agent {

// By what this program is known. Where its pages are watched the session wants no hooks from now on.
runtime::ProfileSource choose_observation(runtime::Session& session);

class WatchedProgram {
 public:
  // Of the time: what clearing and reading may take, and the program's pages as they are used again, while
  // somebody learns, and afterwards.
  static constexpr double k_share_learning = observe::k_max_reference_share;
  static constexpr double k_share_later = k_share_learning / 10;
  // An interval has this many windows, and is at least this long.
  static constexpr std::uint32_t k_windows = 8;
  static constexpr Seconds k_min_interval{0.5};

  // All outlive it. `mutex`: the program's, under which the collector is used; `clock`: the run's.
  // `events`: that sample accesses to memory, where the machine has such.
  WatchedProgram(observe::WatchedPagesCollector& collector, std::mutex& mutex, Clock& clock,
                 const std::vector<observe::PerfEvent>& events);
  ~WatchedProgram();
  WatchedProgram(const WatchedProgram&) = delete;
  WatchedProgram& operator=(const WatchedProgram&) = delete;

  // Before it begins.
  void report_to(runtime::Runtime& runtime) noexcept;
  // While somebody else has found a loop no intervals are cut. Before it begins.
  void yield_to(std::function<bool()> has_loop);
  // The thread begins. Whoever allocates calls it once, when there is enough to watch.
  void begin() noexcept;
  // The thread ends, at the latest after the window that is open.
  void end() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace terrace::agent
