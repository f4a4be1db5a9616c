// How a workload ends.
#pragma once

#include <cstdio>

namespace workloads {

/// Prints whether the results are right. Returns the program's exit status: 0 when they are, else 1.
inline int verdict(bool verified) {
  std::printf("Verification %s\n", verified ? "SUCCESSFUL" : "FAILED");
  return verified ? 0 : 1;
}

}  // namespace workloads
