// SPDX-License-Identifier: Apache-2.0
// Declares the interface of the clock from which the runtime takes all its times. Implementations are a real clock
// and the simulator's virtual one; the runtime cannot tell them apart.
#pragma once

#include "core/units.hpp"

namespace terrace {

class Clock {
 public:
  virtual ~Clock() = default;
  // Returns the time since the program began. Monotonic.
  [[nodiscard]] virtual Seconds now() = 0;
  // Returns whether times are reproducible to the last digit: only the program and its placement take time.
  [[nodiscard]] virtual bool is_exact() const { return false; }
  // Returns the CPU time of the program's main thread on a real machine, where other processes may preempt it;
  // now() in virtual time.
  [[nodiscard]] virtual Seconds worked() { return now(); }
  // Charges runtime work of a stated cost to the program. Real clocks do nothing: the time has passed anyway.
  virtual void charge(Seconds cost) = 0;
  // Advances virtual time over an interval in which the program was not observed. Real clocks do nothing.
  virtual void advance_unobserved(Seconds time) { static_cast<void>(time); }
  // Returns when work of this cost ends if another core runs it concurrently with the program. Real clocks return
  // now(): the work has been done when this is called.
  [[nodiscard]] virtual Seconds background_finish_time(Seconds cost) {
    static_cast<void>(cost);
    return now();
  }
  // Charges what that work costs the program: nothing while a core is free for it. Real clocks do nothing.
  virtual void charge_background_work(Seconds cost) { static_cast<void>(cost); }
};

}  // namespace terrace
