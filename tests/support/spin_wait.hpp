// Waits for another thread's next step, which usually comes within microseconds.
#pragma once

#include <thread>

namespace terrace::tests {

// Spins until `condition()` holds; from the 2,000th look on it yields, so that one processor suffices for two
// threads.
template <class Condition>
void spin_until(Condition condition) {
  for (int looks = 0; !condition(); ++looks)
    if (looks >= 2000) std::this_thread::yield();
}

}  // namespace terrace::tests
