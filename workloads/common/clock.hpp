// The clock that the workloads time themselves with. It is the program's own (clock_gettime underneath), so
// that a simulator which answers clock_gettime in virtual time is believed.
#pragma once

#include <chrono>

namespace workloads {

inline double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace workloads
