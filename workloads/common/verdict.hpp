// Prints whether a workload's result is verified and returns its exit status; the workloads end with it.
#pragma once

#include <cmath>
#include <cstdio>

namespace workloads {

/// The larger of two errors. What is not a number is larger than all that are.
inline double worse(double a, double b) { return std::isnan(a) || b <= a ? a : b; }

/// Prints whether the results are right. Returns the program's exit status: 0 when they are, else 1.
inline int verdict(bool verified) {
  std::printf("Verification %s\n", verified ? "SUCCESSFUL" : "FAILED");
  return verified ? 0 : 1;
}

}  // namespace workloads
