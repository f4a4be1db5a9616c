// NPB LU: a solver of the compressible Navier-Stokes equations by symmetric successive over-relaxation, with 5 x 5
// block-triangular systems that are solved up and down the grid. Source: Bailey et al., RNR-94-007 (1994),
// section 3.
//
// An iteration is a step in pseudo-time, with the phases lower, upper, add, rhs. The arrays are those of the
// benchmark's version for several processes as one of them holds the whole grid, without ghost layers.
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

constexpr cfd::Operations k_operations{1984.77, -10923.3, 27770.9, -144010.0};

/// The forcing that makes the exact solution the steady state: the differences of its fluxes.
void compute_forcing(const cfd::Cube& cube, const Fields& fields) {
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
[[gnu::noinline]] void add(const cfd::Cube& cube, const Fields& fields) {
  constexpr double k_scale = 1.0 / (k_omega * (2.0 - k_omega));
#pragma omp parallel for schedule(static)
  for (int k = 1; k < cube.n - 1; ++k) {
    for (int j = 1; j < cube.n - 1; ++j) {
      for (std::ptrdiff_t p = cube.at(1, j, k); p < cube.at(cube.n - 1, j, k); ++p) {
#pragma GCC unroll 5
        for (int m = 0; m < cfd::k_unknowns; ++m) fields.u(m, p) += k_scale * fields.rsd(m, p);
      }
    }
  }
}

/// One iteration; leaves the residual of the new u.
void iterate(const cfd::Cube& cube, double dt, const Fields& fields) {
  workloads::phase("lower");
  lower(cube, dt, fields);
  workloads::phase("upper");
  upper(cube, dt, fields);
  workloads::phase("add");
  add(cube, fields);
  workloads::phase("rhs");
  compute_rhs(cube, fields);
}

void begin_again(const cfd::Cube& cube, const Fields& fields) {
  cfd::fill(cube, fields.u, cfd::initial_at);
  compute_rhs(cube, fields);
}

int run(const workloads::NpbArguments& arguments) {
  const cfd::Problem& problem = cfd::problem_of(k_problems, arguments.problem_class);
  const cfd::Cube cube(problem.side);
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
  iterate(cube, problem.dt, fields);
  begin_again(cube, fields);

  const auto measure = [&] {
    return cfd::Norms{cfd::residual_norm(cube, fields.rsd), cfd::error_norm(cube, fields.u),
                      surface_integral(cube, fields.u)};
  };
  cfd::Norms norms;
  const double begin = workloads::seconds();
  workloads::loop_begin("main");
  for (std::uint64_t iteration = 1; iteration <= arguments.iterations; ++iteration) {
    if (iteration == problem.iterations + 1) norms = measure();
    iterate(cube, problem.dt, fields);
  }
  workloads::loop_end();
  const double end = workloads::seconds();
  if (arguments.iterations == problem.iterations) norms = measure();
  return cfd::report("LU", problem, arguments.iterations, end - begin, k_operations, norms);
}

}  // namespace lu

int main(int argc, char** argv) {
  return lu::run(workloads::parse_npb_arguments(
      argc, argv, "lu", "NPB LU: block-triangular systems of a flow solver by over-relaxation",
      [](char problem_class) { return cfd::problem_of(lu::k_problems, problem_class).iterations; }));
}
