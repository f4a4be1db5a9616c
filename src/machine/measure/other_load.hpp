// What other programs take of the processors while something is measured, as /proc/stat has it: evidence for
// refusals. The kernel counts in ticks of 10 ms, so that intervals of a second and more say something.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

namespace terrace::machine {

// Seconds since the system started.
struct ProcessorTime {
  double busy = 0;    // in programs, in the kernel, in interrupts
  double stolen = 0;  // that the host of a virtual machine gave to others
};
// Parses the lines of /proc/stat that begin with "cpu" and a number, by that number.
std::map<int, ProcessorTime> parse_processor_times(std::string_view stat, double ticks_per_second);

// Processors taken, on average over an interval: 1.5 are one and a half.
struct TakenProcessors {
  double all = 0;     // by other programs, on all processors
  double beyond = 0;  // by other programs, on processors that are not measured
  double stolen = 0;  // by the host of a virtual machine
};
// Returns who took what of the interval from `before` to `after`. This process took `own` seconds on any
// processors, `unpinned` of them perhaps on some that are not `measured`.
TakenProcessors taken_processors(const std::map<int, ProcessorTime>& before,
                                 const std::map<int, ProcessorTime>& after, double seconds,
                                 std::span<const int> measured, double own, double unpinned);

// Observes the system from its construction on. The thread that constructs it asks it, and starts the threads that
// measure, which are pinned. Reports nothing where there is no /proc/stat.
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
