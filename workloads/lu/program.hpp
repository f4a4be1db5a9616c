// SPDX-License-Identifier: Apache-2.0
// Implements NPB LU's arrays, iterations and verification, for one process and for several that divide the grid.
#pragma once

#include <vector>

#include "cfd/verification.hpp"
#include "common/clock.hpp"
#include "common/markers.hpp"
#include "lu/problems.hpp"
#include "lu/rhs.hpp"
#include "lu/surface.hpp"
#include "lu/sweeps.hpp"

namespace lu {

using Array = std::vector<double>;

/// The steps in which processes depend on each other, for a process that has the whole grid.
struct Alone {
  void exchange(const cfd::Cube&, cfd::Together) const {}
  void lower(const cfd::Cube& cube, double dt, const Fields& fields) const { lu::lower(cube, dt, fields); }
  void upper(const cfd::Cube& cube, double dt, const Fields& fields) const { lu::upper(cube, dt, fields); }
};

constexpr cfd::Operations k_operations{1984.77, -10923.3, 27770.9, -144010.0};

/// The forcing that makes the exact solution the steady state: the differences of its fluxes.
inline void compute_forcing(const cfd::Cube& cube, const Fields& fields) {
  cfd::fill(cube, fields.frct, [](const cfd::Cube&, int, int, int) { return cfd::State{}; });
  cfd::fill(cube, fields.u, cfd::exact_at);
  compute_rhs(cube, fields);
  cfd::fill(cube, fields.frct, [&](const cfd::Cube&, int i, int j, int k) {
    cfd::State state;
    for (int m = 0; m < cfd::k_unknowns; ++m) state[m] = fields.rsd(m, cube.at(i, j, k));
    return state;
  });
}

/// u = u + rsd / (omega (2 - omega)).
[[gnu::noinline]] inline void add(const cfd::Cube& cube, const Fields& fields) {
  constexpr double k_scale = 1.0 / (k_omega * (2.0 - k_omega));
#pragma omp parallel for schedule(static)
  for (int k = cube.inside[2].begin; k < cube.inside[2].end; ++k) {
    for (int j = cube.inside[1].begin; j < cube.inside[1].end; ++j) {
      for (std::ptrdiff_t p = cube.at(cube.inside[0].begin, j, k); p < cube.at(cube.inside[0].end, j, k); ++p) {
#pragma GCC unroll 5
        for (int m = 0; m < cfd::k_unknowns; ++m) fields.u(m, p) += k_scale * fields.rsd(m, p);
      }
    }
  }
}

/// One iteration; leaves the residual of the new u.
template <typename Solver>
void iterate(Solver& solver, const cfd::Cube& cube, double dt, const Fields& fields) {
  workloads::phase("lower");
  solver.lower(cube, dt, fields);
  workloads::phase("upper");
  solver.upper(cube, dt, fields);
  workloads::phase("add");
  add(cube, fields);
  workloads::phase("rhs");
  solver.exchange(cube, fields.u);
  compute_rhs(cube, fields);
}

inline void begin_again(const cfd::Cube& cube, const Fields& fields) {
  cfd::fill(cube, fields.u, cfd::initial_at);
  compute_rhs(cube, fields);
}

/// Runs LU on a process's part of the grid. Returns the exit status.
///
/// solver.exchange() brings u up to date in the layers around that part; its lower() and upper() are those of
/// sweeps.hpp, over all processes.
template <typename Solver>
int run(std::uint64_t iterations, const cfd::Problem& problem, const cfd::Cube& cube, Solver& solver,
        const workloads::Processes& processes) {
  const std::size_t points = cube.points();
  const auto plane = static_cast<std::size_t>(cube.plane);
  Array u(cfd::k_unknowns * points);
  Array rsd(cfd::k_unknowns * points);
  Array frct(cfd::k_unknowns * points);
  Array flux(cfd::k_unknowns * points);
  Array a(25 * plane);
  Array b(25 * plane);
  Array c(25 * plane);
  Array d(25 * plane);
  const Fields fields{{u.data()}, {rsd.data()}, {frct.data()}, {flux.data()},
                      a.data(),   b.data(),     c.data(),      d.data()};

  // The benchmark runs one iteration before it starts its clock, then begins again.
  compute_forcing(cube, fields);
  begin_again(cube, fields);
  iterate(solver, cube, problem.dt, fields);
  begin_again(cube, fields);

  const auto measure = [&] {
    return cfd::Norms{cfd::residual_norm(cube, processes, fields.rsd), cfd::error_norm(cube, processes, fields.u),
                      surface_integral(cube, processes, fields.u)};
  };
  cfd::Norms norms;
  const double begin = workloads::seconds();
  workloads::loop_begin("main");
  for (std::uint64_t iteration = 1; iteration <= iterations; ++iteration) {
    if (iteration == problem.iterations + 1) norms = measure();
    iterate(solver, cube, problem.dt, fields);
  }
  workloads::loop_end();
  const double end = workloads::seconds();
  if (iterations == problem.iterations) norms = measure();
  return cfd::report("LU", problem, iterations, end - begin, k_operations, norms, processes);
}

/// Parses LU's command line; exits 2 on a wrong call.
inline workloads::NpbArguments parse_arguments(int argc, char** argv, const workloads::Processes& processes) {
  return workloads::parse_npb_arguments(
      argc, argv, "lu", "NPB LU: block-triangular systems of a flow solver by over-relaxation",
      [](char problem_class) { return cfd::problem_of(k_problems, problem_class).iterations; },
      processes.is_first());
}

}  // namespace lu
