// SPDX-License-Identifier: Apache-2.0
// NPB MG on several ranks: V-cycles of a multigrid solver for the Poisson equation A u = v on a periodic cube, in
// boxes. Source: Bailey et al., RNR-94-007 (1994), section 2.3.2; decomposition and messages as in NPB's MPI
// version.
//
// As in the benchmark, u and r are one array each over all levels, v has the finest level alone. Every operator
// but the prolongation is followed by an exchange of faces.
#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/npb.hpp"
#include "mg/charges.hpp"
#include "mg/problems.hpp"
#include "mg/stencils.hpp"
#include "mpi/common/environment.hpp"
#include "mpi/mg/domain.hpp"

namespace mg {

void fill_zero(const Box& box) { std::fill_n(box.data, box.points(), 0.0); }

/// The solver's arrays on this rank, and a V-cycle on them.
class Solver {
 public:
  Solver(const Problem& problem, int ranks)
      : problem_(problem), finest_(std::countr_zero(static_cast<unsigned>(problem.side))), domain_(ranks) {
    u_ = boxes_in(u_array_, 1);
    r_ = boxes_in(r_array_, 1);
    v_ = boxes_in(v_array_, finest_).back();
  }

  /// Fills v with the charges and u with 0, and computes the residual.
  void begin(const std::vector<Charge>& charges) {
    fill_zero(v_);
    const Extents first = domain_.first(finest_);
    for (const Charge& charge : charges) {
      const Extents at{charge.i3 - first[0], charge.i2 - first[1], charge.i1 - first[2]};
      bool is_inside = true;
      for (int d = 0; d < 3; ++d) is_inside = is_inside && at[d] >= 1 && at[d] < v_.n[d] - 1;
      if (is_inside) v_.at(at) = charge.value;
    }
    domain_.exchange(finest_, v_);
    fill_zero(u_[finest_]);
    residual(finest_);
  }

  /// Improves u by a V-cycle, and computes the residual.
  void cycle() {
    for (int level = finest_; level > 1; --level) {
      restrict_to(r_[level], r_[level - 1], offset(level));
      domain_.exchange(level - 1, r_[level - 1]);
    }
    fill_zero(u_[1]);
    smoothen(1);
    for (int level = 2; level <= finest_; ++level) {
      if (level < finest_) fill_zero(u_[level]);
      prolong(u_[level - 1], u_[level], offset(level));
      residual(level);
      smoothen(level);
    }
    residual(finest_);
  }

  /// Returns the root mean square of the residual.
  double norm() const {
    return std::sqrt(workloads::sum_of_ranks(sum_of_squares(r_[finest_])) / std::pow(problem_.side, 3));
  }

 private:
  void residual(int level) {
    compute_residual(u_[level], level == finest_ ? v_ : r_[level], r_[level]);
    domain_.exchange(level, r_[level]);
  }

  void smoothen(int level) {
    smooth(r_[level], u_[level], problem_.smoother);
    domain_.exchange(level, u_[level]);
  }

  /// Returns where point i of the coarser level's box is in that of `level`, less 2 i.
  Extents offset(int level) const {
    const Extents fine = domain_.first(level);
    const Extents coarse = domain_.first(level - 1);
    return {2 * coarse[0] - fine[0], 2 * coarse[1] - fine[1], 2 * coarse[2] - fine[2]};
  }

  /// Allocates an array for the levels from `coarsest`, the finest first. Returns its boxes by level.
  std::vector<Box> boxes_in(std::vector<double>& array, int coarsest) const {
    std::vector<Box> boxes(static_cast<std::size_t>(finest_) + 1);
    std::size_t points = 0;
    for (int level = coarsest; level <= finest_; ++level) {
      boxes[level].n = domain_.extents(level);
      points += boxes[level].points();
    }
    array.resize(points);
    double* data = array.data();
    for (int level = finest_; level >= coarsest; --level) {
      boxes[level].data = data;
      data += boxes[level].points();
    }
    return boxes;
  }

  const Problem& problem_;
  int finest_;
  Domain domain_;
  std::vector<double> u_array_, r_array_, v_array_;
  std::vector<Box> u_, r_;  // by level; [0] is not used
  Box v_;
};

int run(const workloads::MpiEnvironment& mpi, const workloads::NpbArguments& arguments) {
  const Problem& problem = problem_of(arguments.problem_class);
  Solver solver(problem, mpi.size());
  const std::vector<Charge> charges = draw_charges(problem.side);

  // The benchmark runs one iteration before it starts its clock, then begins again.
  solver.begin(charges);
  solver.cycle();

  double verified_norm = 0.0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = workloads::seconds();
  solver.begin(charges);
  for (std::uint64_t iteration = 1; iteration <= arguments.iterations; ++iteration) {
    solver.cycle();
    if (iteration == problem.iterations) verified_norm = solver.norm();
  }
  const double seconds = workloads::max_of_ranks(workloads::seconds() - begin);
  if (!mpi.prints()) return 0;
  return workloads::report({.name = "MG",
                            .problem_class = problem.name,
                            .size = size_of(problem),
                            .iterations = arguments.iterations,
                            .official_iterations = problem.iterations,
                            .seconds = seconds,
                            .operations = operations(problem, arguments.iterations),
                            .quantity = "L2 norm",
                            .value = verified_norm,
                            .reference = problem.norm,
                            .tolerance = 1e-8});
}

}  // namespace mg

int main(int argc, char** argv) {
  const workloads::MpiEnvironment mpi(&argc, &argv);
  const auto arguments = workloads::parse_npb_arguments(
      argc, argv, "mg", "NPB MG on MPI ranks, whose number is a power of two of at most 32768",
      [](char problem_class) { return mg::problem_of(problem_class).iterations; }, mpi.prints());
  if (!std::has_single_bit(static_cast<unsigned>(mpi.size())) || mpi.size() > 32768)
    mpi.fail("mg", std::to_string(mpi.size()) + " ranks: a power of two of at most 32768 is required");
  return mpi.exit_status(mg::run(mpi, arguments));
}
