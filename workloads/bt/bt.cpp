// NPB BT: an implicit solver of the compressible Navier-Stokes equations by approximate factorisation, with 5 x 5
// block-tridiagonal systems along the three directions. Source: Bailey et al., RNR-94-007 (1994), section 3.
//
// An iteration is a step in pseudo-time, with the phases rhs, x_solve, y_solve, z_solve, add. The arrays are those
// of the benchmark's version for several processes as one of them holds the whole grid, without ghost layers.
#include <vector>

#include "bt/problems.hpp"
#include "bt/solve.hpp"
#include "cfd/march.hpp"

namespace bt {

using Array = std::vector<double>;

constexpr cfd::Operations k_operations{3478.8, -17655.7, 28023.7, 0.0};

struct Step {
  const cfd::Cube& cube;
  double dt;
  Fields fields;
  cfd::Together forcing;

  void compute_rhs() const {
    cfd::compute_rhs(cube, dt, fields.u, forcing, fields.derived, fields.rhs, [](std::ptrdiff_t) {});
  }

  void solve_and_add() const {
    workloads::phase("x_solve");
    x_solve(cube, dt, fields);
    workloads::phase("y_solve");
    y_solve(cube, dt, fields);
    workloads::phase("z_solve");
    z_solve(cube, dt, fields);
    workloads::phase("add");
    cfd::add(cube, fields.u, fields.rhs);
  }
};

int run(const workloads::NpbArguments& arguments) {
  const cfd::Problem& problem = cfd::problem_of(k_problems, arguments.problem_class);
  const cfd::Cube cube(problem.side);
  const std::size_t points = cube.points();
  Array u(cfd::k_unknowns * points);
  Array rhs(cfd::k_unknowns * points);
  Array forcing(cfd::k_unknowns * points);
  Array us(points);
  Array vs(points);
  Array ws(points);
  Array qs(points);
  Array rho_i(points);
  Array square(points);
  Array lhsc(25 * points);
  const cfd::Derived derived{us.data(), vs.data(), ws.data(), qs.data(), rho_i.data(), square.data()};
  const Step step{cube, problem.dt, {{u.data()}, {rhs.data()}, derived, lhsc.data()}, {forcing.data()}};

  cfd::compute_forcing(cube, step.fields.u, step.forcing, derived, step.fields.rhs, [](std::ptrdiff_t) {});
  return cfd::march("BT", step, problem, arguments.iterations, k_operations);
}

}  // namespace bt

int main(int argc, char** argv) {
  return bt::run(workloads::parse_npb_arguments(
      argc, argv, "bt", "NPB BT: block-tridiagonal systems of an implicit flow solver",
      [](char problem_class) { return cfd::problem_of(bt::k_problems, problem_class).iterations; }));
}
