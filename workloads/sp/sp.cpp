// NPB SP: an implicit solver of the compressible Navier-Stokes equations by approximate factorisation in
// characteristic variables, with scalar pentadiagonal systems along the three directions. Source: Bailey et al.,
// RNR-94-007 (1994), section 3.
//
// An iteration is a step in pseudo-time, with the phases rhs, txinvr, x_solve, ninvr, y_solve, pinvr, z_solve,
// tzetar, add. The arrays are those of the benchmark's version for several processes as one of them holds the
// whole grid, without ghost layers.
#include <cmath>
#include <vector>

#include "cfd/march.hpp"
#include "sp/problems.hpp"
#include "sp/solve.hpp"
#include "sp/transforms.hpp"

namespace sp {

using Array = std::vector<double>;

constexpr cfd::Operations k_operations{881.174, -4683.91, 11484.5, -19272.4};

struct Step {
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

  void compute_rhs() const { cfd::compute_rhs(cube, dt, fields.u, forcing, fields.derived, fields.rhs, sound()); }

  void solve_and_add() const {
    workloads::phase("txinvr");
    txinvr(cube, fields);
    workloads::phase("x_solve");
    x_solve(cube, dt, fields);
    workloads::phase("ninvr");
    ninvr(cube, fields);
    workloads::phase("y_solve");
    y_solve(cube, dt, fields);
    workloads::phase("pinvr");
    pinvr(cube, fields);
    workloads::phase("z_solve");
    z_solve(cube, dt, fields);
    workloads::phase("tzetar");
    tzetar(cube, fields);
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
  Array speed(points);
  Array ainv(points);
  Array lhs(15 * points);
  const auto apart = [&](Array& array) { return cfd::Apart{array.data(), static_cast<std::ptrdiff_t>(points)}; };
  const cfd::Derived derived{us.data(), vs.data(), ws.data(), qs.data(), rho_i.data(), square.data()};
  const Step step{
      cube, problem.dt, {apart(u), apart(rhs), derived, speed.data(), ainv.data(), lhs.data()}, apart(forcing)};

  cfd::compute_forcing(cube, step.fields.u, step.forcing, derived, step.fields.rhs, step.sound());
  return cfd::march("SP", step, problem, arguments.iterations, k_operations);
}

}  // namespace sp

int main(int argc, char** argv) {
  return sp::run(workloads::parse_npb_arguments(
      argc, argv, "sp", "NPB SP: pentadiagonal systems of an implicit flow solver",
      [](char problem_class) { return cfd::problem_of(sp::k_problems, problem_class).iterations; }));
}
