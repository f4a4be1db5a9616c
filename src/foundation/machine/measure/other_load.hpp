// SPDX-License-Identifier: Apache-2.0
// Measures the processor time that other programs take during `terrace machine measure`, from /proc/stat, as
// evidence for refusing the measurement. The resolution is a tick of 10 ms, so intervals should last a second or
// more.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

namespace terrace::machine {

// Processor time of one processor since boot, in seconds.
struct ProcessorTime {
  double busy = 0;    // in user mode, kernel and interrupts
  double stolen = 0;  // given to other guests by the host of a virtual machine
};
// Parses the "cpuN" lines of /proc/stat. The keys are N.
std::map<int, ProcessorTime> parse_processor_times(std::string_view stat, double ticks_per_second);

// Average number of processors taken over an interval.
struct TakenProcessors {
  double all = 0;     // by other programs, on all processors
  double beyond = 0;  // by other programs, on processors that are not measured
  double stolen = 0;  // by the host of a virtual machine
};
// Returns what was taken between `before` and `after`. Subtracts this process's time: `own` seconds on all
// processors, of which up to `unpinned` ran outside of `measured`.
TakenProcessors taken_processors(const std::map<int, ProcessorTime>& before,
                                 const std::map<int, ProcessorTime>& after, double seconds,
                                 std::span<const int> measured, double own, double unpinned);

// Measures other load since construction. Requires: one thread constructs this, calls taken() and starts the
// measuring threads, which are pinned. Reports 0 without /proc/stat.
class OtherLoad {
 public:
  explicit OtherLoad(std::vector<int> measured);
  [[nodiscard]] TakenProcessors taken() const;

 private:
  struct State {
    std::map<int, ProcessorTime> processors;
    double clock = 0, own = 0, unpinned = 0;  // seconds
  };
  static State now();

  std::vector<int> measured_;
  State begun_ = now();
};

}  // namespace terrace::machine
