// SPDX-License-Identifier: Apache-2.0
// Eddy with MPI (eddy/program.hpp): elements are divided among the ranks, which sum the values of shared points
// (gather_scatter.hpp) and the products of conjugate gradients. Each solves the problem of the elements' corners,
// which is small, for itself.
#include <cstdio>
#include <string>

#include "eddy/program.hpp"
#include "mpi/common/arguments.hpp"
#include "mpi/eddy/gather_scatter.hpp"

int main(int argc, char** argv) {
  constexpr std::uint64_t k_elements[] = {6, 16, 50};  // along each side, by class
  const workloads::MpiEnvironment mpi(&argc, &argv);
  const auto [number_of_class, iterations] = workloads::parse_mpi_arguments(
      argc, argv, mpi, "eddy", "spectral elements for the Navier-Stokes equations on MPI ranks: Walsh's eddies",
      10);
  eddy::Settings settings{.elements = k_elements[number_of_class], .steps = iterations, .shows_solvers = false};
  eddy::complete(settings);
  const auto side = static_cast<std::int64_t>(settings.elements);
  if (mpi.size() > side * side) {
    mpi.fail("eddy", std::to_string(mpi.size()) + " ranks: at most " + std::to_string(side * side) +
                         " are possible in this class");
  }
  const workloads::Ranks ranks(mpi);
  const int status = eddy::run(settings, eddy::GatherScatter(ranks, side, static_cast<int>(settings.order) + 1));
  if (mpi.prints()) std::printf("Iterations %llu\n", static_cast<unsigned long long>(iterations));
  return status;
}
