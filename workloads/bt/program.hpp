// SPDX-License-Identifier: Apache-2.0
// Implements NPB BT's arrays and steps, for one process and for several that divide the grid.
#pragma once

#include <vector>

#include "bt/problems.hpp"
#include "bt/solve.hpp"
#include "cfd/march.hpp"

namespace bt {

using Array = std::vector<double>;

constexpr cfd::Operations k_operations{3478.8, -17655.7, 28023.7, 0.0};

/// The steps in which processes depend on each other, for a process that has the whole grid.
struct Alone {
  void exchange(const cfd::Cube&, cfd::Together) const {}
  void y_solve(const cfd::Cube& cube, double dt, const Fields& fields) const { bt::y_solve(cube, dt, fields); }
  void z_solve(const cfd::Cube& cube, double dt, const Fields& fields) const { bt::z_solve(cube, dt, fields); }
};

template <typename Solver>
struct Step {
  Solver& solver;
  const cfd::Cube& cube;
  double dt;
  Fields fields;
  cfd::Together forcing;

  void compute_rhs() const {
    solver.exchange(cube, fields.u);
    cfd::compute_rhs(cube, dt, fields.u, forcing, fields.derived, fields.rhs, [](std::ptrdiff_t) {});
  }

  void solve_and_add() const {
    workloads::phase("x_solve");
    x_solve(cube, dt, fields);
    workloads::phase("y_solve");
    solver.y_solve(cube, dt, fields);
    workloads::phase("z_solve");
    solver.z_solve(cube, dt, fields);
    workloads::phase("add");
    cfd::add(cube, fields.u, fields.rhs);
  }
};

/// Runs BT on a process's part of the grid, which has all points along x. Returns the exit status.
///
/// solver.exchange() brings u up to date in the layers around that part; its y_solve() and z_solve() are those of
/// solve.hpp, over all processes.
template <typename Solver>
int run(std::uint64_t iterations, const cfd::Problem& problem, const cfd::Cube& cube, Solver& solver,
        const workloads::Processes& processes) {
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
  const Step<Solver> step{
      solver, cube, problem.dt, {{u.data()}, {rhs.data()}, derived, lhsc.data()}, {forcing.data()}};

  cfd::compute_forcing(cube, step.fields.u, step.forcing, derived, step.fields.rhs, [](std::ptrdiff_t) {});
  return cfd::march("BT", step, problem, iterations, k_operations, processes);
}

/// Parses BT's command line; exits 2 on a wrong call.
inline workloads::NpbArguments parse_arguments(int argc, char** argv, const workloads::Processes& processes) {
  return workloads::parse_npb_arguments(
      argc, argv, "bt", "NPB BT: block-tridiagonal systems of an implicit flow solver",
      [](char problem_class) { return cfd::problem_of(k_problems, problem_class).iterations; },
      processes.is_first());
}

}  // namespace bt
