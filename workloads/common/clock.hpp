// Reads the clock by which all workloads time themselves. It is the program's own (clock_gettime underneath), so
// that the times are virtual under a simulator that answers clock_gettime in virtual time.
#pragma once

#include <chrono>

namespace workloads {

inline double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace workloads
