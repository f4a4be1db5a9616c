// SPDX-License-Identifier: Apache-2.0
// Implements a spin lock for critical sections of a few dozen instructions, for the runtime in the program. The C
// library's mutexes are interposed in a user's program.
#pragma once

#include <sched.h>

#include <atomic>

namespace terrace::observe {

class SpinLock {
 public:
  void lock() {
    for (unsigned tries = 0; taken_.test_and_set(std::memory_order_acquire); ++tries) {
      if (tries > 100) sched_yield();
    }
  }
  void unlock() { taken_.clear(std::memory_order_release); }

 private:
  std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
};

}  // namespace terrace::observe
