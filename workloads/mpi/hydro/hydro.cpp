// SPDX-License-Identifier: Apache-2.0
// Hydro with MPI (hydro/program.hpp): each rank has a strip of the mesh's rows. Both ranks that have a line of
// points move it, by the forces of their own zones' corners and of the neighbour's, summed in the same order.
#include <array>
#include <string>

#include "hydro/program.hpp"
#include "mpi/common/arguments.hpp"
#include "mpi/common/ranks.hpp"

namespace hydro {
namespace {

constexpr std::uint64_t k_sides[] = {64, 256, 1024};  // by class
/// After these the shock is wide enough to be verified, in all classes.
constexpr std::uint64_t k_default_iterations = 400;

void pass_vector(const auto& pass, Vector& vector) {
  pass(vector.x);
  pass(vector.y);
}

/// Lists `count` values.
auto values_from(std::vector<double>& values, std::uint64_t first, std::uint64_t count) {
  return [=, &values](auto pass) {
    for (std::uint64_t i = first; i < first + count; ++i) pass(values[i]);
  };
}

/// Lists the forces of `count` corners.
auto forces_from(std::vector<Vector>& force, std::uint64_t first, std::uint64_t count) {
  return [=, &force](auto pass) {
    for (std::uint64_t corner = first; corner < first + count; ++corner) pass_vector(pass, force[corner]);
  };
}

/// Lists the forces of two corners of each of `count` zones.
auto forces_of_zones(std::vector<Vector>& force, std::uint64_t first_zone, std::uint64_t count, int left,
                     int right) {
  return [=, &force](auto pass) {
    for (std::uint64_t zone = first_zone; zone < first_zone + count; ++zone) {
      pass_vector(pass, force[4 * zone + left]);
      pass_vector(pass, force[4 * zone + right]);
    }
  };
}

class Strips {
 public:
  Strips(const workloads::MpiEnvironment& mpi, std::uint64_t side)
      : side_(side),
        rows_{workloads::first_of_part(side, mpi.rank(), mpi.size()),
              workloads::first_of_part(side, mpi.rank() + 1, mpi.size())},
        zones_((rows_.end - rows_.begin) * side),
        before_(mpi.rank() > 0 ? mpi.rank() - 1 : MPI_PROC_NULL),
        after_(mpi.rank() + 1 < mpi.size() ? mpi.rank() + 1 : MPI_PROC_NULL) {}

  Rows rows() const { return rows_; }

  /// Adds the mass that the neighbours' zones give to the points of the first and the last line.
  void complete_masses(Gas& gas) {
    const std::uint64_t line = side_ + 1;
    const std::uint64_t last = (rows_.end - rows_.begin) * line;
    std::vector<double> before(line);
    std::vector<double> after(line);
    exchange(values_from(gas.point_mass, 0, line), values_from(gas.point_mass, last, line),
             values_from(before, 0, line), values_from(after, 0, line));
    for (std::uint64_t i = 0; i < line; ++i) {
      gas.point_mass[i] += before[i];
      gas.point_mass[last + i] += after[i];
    }
  }

  /// Exchanges the forces of the corners in the points of the first and the last line.
  void exchange_forces(Gas& gas) {
    const std::uint64_t of_strip_before = 4 * zones_;
    const std::uint64_t of_strip_after = of_strip_before + (rows_.begin > 0 ? 2 * side_ : 0);
    exchange(forces_of_zones(gas.force, 0, side_, 0, 1), forces_of_zones(gas.force, zones_ - side_, side_, 3, 2),
             forces_from(gas.force, of_strip_before, 2 * side_),
             forces_from(gas.force, of_strip_after, 2 * side_));
  }

  /// Returns the energy of all ranks. A line of points that two ranks have is counted by the second one.
  ///
  /// Sums row by row: added one by one, the cold zones of a fine mesh would be lost in rounding.
  double total_energy(const Mesh& mesh, const Gas& gas) const {
    const std::uint64_t line = side_ + 1;
    const std::uint64_t rows = mesh.zones() / side_;
    double total = 0.0;
    for (std::uint64_t row = 0; row < rows; ++row) {
      total += energy_of(gas, {row * side_, (row + 1) * side_}, {row * line, (row + 1) * line});
    }
    if (after_ == MPI_PROC_NULL) total += energy_of(gas, {0, 0}, {rows * line, (rows + 1) * line});
    return workloads::sum_of_ranks(total);
  }

 private:
  void exchange(const auto& to_before, const auto& to_after, const auto& from_before, const auto& from_after) {
    std::array<MPI_Request, 4> requests;
    received_before_.begin_receive(MPI_COMM_WORLD, before_, 1, &requests[0], from_before);
    received_after_.begin_receive(MPI_COMM_WORLD, after_, 2, &requests[1], from_after);
    sent_before_.begin_send(MPI_COMM_WORLD, before_, 2, &requests[2], to_before);
    sent_after_.begin_send(MPI_COMM_WORLD, after_, 1, &requests[3], to_after);
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    if (before_ != MPI_PROC_NULL) received_before_.unpack(from_before);
    if (after_ != MPI_PROC_NULL) received_after_.unpack(from_after);
  }

  std::uint64_t side_;
  Rows rows_;
  std::uint64_t zones_;
  int before_;
  int after_;
  workloads::PackedMessage sent_before_;
  workloads::PackedMessage sent_after_;
  workloads::PackedMessage received_before_;
  workloads::PackedMessage received_after_;
};

}  // namespace
}  // namespace hydro

int main(int argc, char** argv) {
  const workloads::MpiEnvironment mpi(&argc, &argv);
  const auto [number_of_class, iterations] = workloads::parse_mpi_arguments(
      argc, argv, mpi, "hydro", "Lagrangian hydrodynamics on MPI ranks: the Sedov blast wave",
      hydro::k_default_iterations);
  const hydro::Settings settings{.side = hydro::k_sides[number_of_class], .steps = iterations};
  if (static_cast<std::uint64_t>(mpi.size()) > settings.side) {
    mpi.fail("hydro", std::to_string(mpi.size()) + " ranks: at most " + std::to_string(settings.side) +
                          " are possible in this class");
  }
  hydro::Strips strips(mpi, settings.side);
  const hydro::Outcome outcome = hydro::run(settings, strips.rows(), strips, workloads::Ranks(mpi));
  if (mpi.prints()) std::printf("Iterations %llu\n", static_cast<unsigned long long>(outcome.steps));
  return outcome.status;
}
