// SPDX-License-Identifier: Apache-2.0
// Declares what the processes of a workload do together: sums, extrema, and one report of the result.
//
// The class itself is for a program of one process; workloads/mpi/common derives the one for MPI's ranks. So a
// program and its version with MPI share their main loop and verification.
#pragma once

namespace workloads {

class Processes {
 public:
  Processes() = default;
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  virtual ~Processes() = default;

  /// Returns whether this process prints.
  virtual bool is_first() const { return true; }

  /// Replaces each of `count` values by its sum over the processes.
  virtual void sum(double* /*values*/, int /*count*/) const {}
  virtual double minimum(double value) const { return value; }
  virtual double maximum(double value) const { return value; }

  /// Returns in all processes the first one's number.
  virtual int broadcast(int number) const { return number; }

  double sum(double value) const {
    sum(&value, 1);
    return value;
  }

  /// Calls report() in the first process alone. Returns its exit status in all.
  template <typename Report>
  int report_once(Report report) const {
    return broadcast(is_first() ? report() : 0);
  }
};

}  // namespace workloads
