// SPDX-License-Identifier: Apache-2.0
// Implements NPB SP's arrays and steps, for one process and for several that divide the grid.
#pragma once

#include <cmath>
#include <vector>

#include "cfd/march.hpp"
#include "sp/problems.hpp"
#include "sp/solve.hpp"
#include "sp/transforms.hpp"

namespace sp {

using Array = std::vector<double>;

constexpr cfd::Operations k_operations{881.174, -4683.91, 11484.5, -19272.4};

/// The steps in which processes depend on each other, for a process that has the whole grid.
struct Alone {
  void exchange(const cfd::Cube&, cfd::Apart) const {}
  void y_solve(const cfd::Cube& cube, double dt, const Fields& fields) const { sp::y_solve(cube, dt, fields); }
  void z_solve(const cfd::Cube& cube, double dt, const Fields& fields) const { sp::z_solve(cube, dt, fields); }
};

template <typename Solver>
struct Step {
  Solver& solver;
  const cfd::Cube& cube;
  double dt;
  Fields fields;
  cfd::Apart forcing;

  /// Sets the speed of sound at a point.
  auto sound() const {
    return [&to = fields](std::ptrdiff_t p) {
      const double pressure = cfd::k_pressure * (to.u(4, p) - to.derived.square[p]);
      to.speed[p] = std::sqrt(cfd::k_gamma * pressure * to.derived.rho_i[p]);
      to.ainv[p] = 1.0 / to.speed[p];
    };
  }

  void compute_rhs() const {
    solver.exchange(cube, fields.u);
    cfd::compute_rhs(cube, dt, fields.u, forcing, fields.derived, fields.rhs, sound());
  }

  void solve_and_add() const {
    workloads::phase("txinvr");
    txinvr(cube, fields);
    workloads::phase("x_solve");
    x_solve(cube, dt, fields);
    workloads::phase("ninvr");
    ninvr(cube, fields);
    workloads::phase("y_solve");
    solver.y_solve(cube, dt, fields);
    workloads::phase("pinvr");
    pinvr(cube, fields);
    workloads::phase("z_solve");
    solver.z_solve(cube, dt, fields);
    workloads::phase("tzetar");
    tzetar(cube, fields);
    workloads::phase("add");
    cfd::add(cube, fields.u, fields.rhs);
  }
};

/// Runs SP on a process's part of the grid, which has all points along x. Returns the exit status.
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
  Array speed(points);
  Array ainv(points);
  Array lhs(15 * points);
  const auto apart = [&](Array& array) { return cfd::Apart{array.data(), static_cast<std::ptrdiff_t>(points)}; };
  const cfd::Derived derived{us.data(), vs.data(), ws.data(), qs.data(), rho_i.data(), square.data()};
  const Step<Solver> step{solver,
                          cube,
                          problem.dt,
                          {apart(u), apart(rhs), derived, speed.data(), ainv.data(), lhs.data()},
                          apart(forcing)};

  cfd::compute_forcing(cube, step.fields.u, step.forcing, derived, step.fields.rhs, step.sound());
  return cfd::march("SP", step, problem, iterations, k_operations, processes);
}

/// Parses SP's command line; exits 2 on a wrong call.
inline workloads::NpbArguments parse_arguments(int argc, char** argv, const workloads::Processes& processes) {
  return workloads::parse_npb_arguments(
      argc, argv, "sp", "NPB SP: pentadiagonal systems of an implicit flow solver",
      [](char problem_class) { return cfd::problem_of(k_problems, problem_class).iterations; },
      processes.is_first());
}

}  // namespace sp
