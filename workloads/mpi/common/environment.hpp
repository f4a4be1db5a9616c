// SPDX-License-Identifier: Apache-2.0
// Wraps what the MPI workloads share: the beginning and end of MPI, one exit status for all ranks, sums and times.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace workloads {

/// Initialises MPI, and finalises it when it is destroyed or when the program exits, as after a wrong call.
class MpiEnvironment {
 public:
  MpiEnvironment(int* argc, char*** argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    std::atexit(finalise);
  }
  MpiEnvironment(const MpiEnvironment&) = delete;
  MpiEnvironment& operator=(const MpiEnvironment&) = delete;
  ~MpiEnvironment() { finalise(); }

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Returns whether this rank prints the program's output.
  bool prints() const { return rank_ == 0; }

  /// Returns rank 0's exit status.
  int exit_status(int status) const {
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return status;
  }

  /// Prints "PROGRAM: MESSAGE" and exits 2: a wrong call that every rank recognises.
  [[noreturn]] void fail(const std::string& program, const std::string& message) const {
    if (prints()) std::fprintf(stderr, "%s: %s\n", program.c_str(), message.c_str());
    std::exit(2);
  }

 private:
  static void finalise() {
    int is_finalised = 0;
    MPI_Finalized(&is_finalised);
    if (is_finalised == 0) MPI_Finalize();
  }

  int rank_ = 0;
  int size_ = 1;
};

/// Returns the sum of all ranks' values.
inline double sum_of_ranks(double value) {
  double sum = 0.0;
  MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

/// Returns whether the condition is true on all ranks.
inline bool is_true_on_all(bool condition) {
  int own = condition ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  return all != 0;
}

/// Returns on rank 0 the largest of all ranks' values.
inline double max_of_ranks(double value) {
  double max = 0.0;
  MPI_Reduce(&value, &max, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return max;
}

/// Returns the first of `count` elements that belongs to part `part` of `parts`; its last one precedes part + 1's
/// first.
template <typename Number>
Number first_of_part(Number count, int part, int parts) {
  return static_cast<Number>(static_cast<long long>(count) * part / parts);
}

}  // namespace workloads
