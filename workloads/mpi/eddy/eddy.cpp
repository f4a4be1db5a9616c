// SPDX-License-Identifier: Apache-2.0
// Eddy with MPI (eddy/program.hpp): elements are divided among the ranks, which sum the values of shared points
// (gather_scatter.hpp) and the products of conjugate gradients. Each solves the problem of the elements' corners,
// which is small, for itself.
#include "eddy/program.hpp"
#include "mpi/eddy/gather_scatter.hpp"

int main(int argc, char** argv) {
  const workloads::MpiEnvironment mpi(&argc, &argv);
  const eddy::Settings settings = eddy::parse_settings(argc, argv, mpi.prints());
  const auto side = static_cast<std::int64_t>(settings.elements);
  if (mpi.size() > side * side) mpi.fail("eddy", "more ranks than elements");
  const workloads::Ranks ranks(mpi);
  return eddy::run(settings, eddy::GatherScatter(ranks, side, static_cast<int>(settings.order) + 1));
}
