// SPDX-License-Identifier: Apache-2.0
// Implements the reductions over MPI's ranks. See ranks.hpp.
#include "mpi/common/ranks.hpp"

namespace workloads {

void Ranks::sum(double* values, int count) const {
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

double Ranks::minimum(double value) const {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  return value;
}

double Ranks::maximum(double value) const {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

}  // namespace workloads
