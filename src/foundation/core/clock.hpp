// The time. The runtime asks this clock and no other: it cannot tell a real one from a simulated one.
#pragma once

#include "core/units.hpp"

namespace terrace {

class Clock {
 public:
  virtual ~Clock() = default;
  // Since the program began; never goes back.
  [[nodiscard]] virtual Seconds now() = 0;
  // Returns whether times repeat to the last digit: nothing but the program and its placement takes time.
  [[nodiscard]] virtual bool is_exact() const { return false; }
  // What the program's main thread has had of a processor, where others can take that from it; else the time.
  [[nodiscard]] virtual Seconds worked() { return now(); }
  // The runtime's own work of a stated cost. Real clocks do nothing here: the time has passed by itself.
  virtual void charge(Seconds cost) = 0;
  // The program went on for that long without being followed, so that nobody made time of it. Real clocks do
  // nothing here either.
  virtual void carry(Seconds time) { static_cast<void>(time); }
  // The same work done on another core, beside the program: when it would be finished. On a real machine it has
  // been done when this is called.
  [[nodiscard]] virtual Seconds finished_beside(Seconds cost) {
    static_cast<void>(cost);
    return now();
  }
  // What that work takes of the program: nothing while there is a core for it. Real clocks have it in their time.
  virtual void share_cores(Seconds cost) { static_cast<void>(cost); }
};

}  // namespace terrace
