// Implements a step of eddy's flow, phase by phase. Its vectors are moved on by copies, not by exchanging them, so
// that each has the same part in all steps.
#include "eddy/flow.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/markers.hpp"
#include "eddy/operators.hpp"
#include "eddy/walsh.hpp"

namespace eddy {
namespace {

constexpr double k_leading = 11.0 / 6.0;  // of the backward differences
constexpr double k_area = 4.0 * std::numbers::pi * std::numbers::pi;
/// How fast the filter takes away the highest order, by unit of time: so its effect does not depend on the step's.
constexpr double k_filter_rate = 1.0;

void set_velocity(const Mesh& mesh, double time, Field& vx, Field& vy) {
  for (std::size_t k = 0; k < mesh.size(); ++k) {
    const Exact exact = exact_solution(mesh.x[k], mesh.y[k], time);
    vx[k] = exact.vx;
    vy[k] = exact.vy;
  }
}

/// The advection of (vx, vy) by itself.
void find_advection(Flow& flow, const Field& vx, const Field& vy, Field& advection_x, Field& advection_y) {
  carry(flow.mesh, vx, vy, flow.carried_r, flow.carried_s);
  advect(flow.mesh, flow.carried_r, flow.carried_s, vx, advection_x);
  advect(flow.mesh, flow.carried_r, flow.carried_s, vy, advection_y);
}

/// The mean over the square of `value(point)`.
template <typename Value>
double mean(Flow& flow, const Value& value) {
  const std::int64_t points = flow.mesh.points();
  const double sum = sum_over_elements(flow.mesh, flow.partial, [&](std::int64_t element) {
    double part = 0.0;
    for (std::int64_t k = element * points; k < (element + 1) * points; ++k) part += flow.mesh.mass[k] * value(k);
    return part;
  });
  return sum / k_area;
}

[[gnu::noinline]] void remove_mean(Flow& flow, Field& field) {
  const double whole = mean(flow, [&](std::int64_t k) { return field[k]; });
  const auto size = static_cast<std::int64_t>(field.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < size; ++k) field[k] -= whole;
}

/// Puts the pressure with its image among the earlier ones.
void remember_pressure(Flow& flow) {
  // Earlier pressures come back with large factors of either sign: what rounding makes of copies of a point, or of
  // the mean, would grow from step to step, and no residual shows it.
  average_shared(flow.mesh, flow.pressure);
  remove_mean(flow, flow.pressure);
  apply_laplacian(flow.mesh, flow.pressure, flow.pressure_cg.image);
  sum_shared(flow.mesh, flow.pressure_cg.image);
  remember(flow.mesh, flow.pressure, flow.pressure_cg.image, flow.partial, flow.earlier);
}

/// The right-hand side of a component, and its past, one step on.
[[gnu::noinline]] void extrapolate(const Mesh& mesh, double dt, const Field& v, Field& v_1, Field& v_2,
                                   const Field& advection, Field& advection_1, Field& advection_2, Field& right) {
  const auto size = static_cast<std::int64_t>(mesh.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < size; ++k) {
    const double past = 3.0 * v[k] - 1.5 * v_1[k] + (1.0 / 3.0) * v_2[k];
    right[k] = mesh.mass[k] * past / dt + 3.0 * (advection[k] - advection_1[k]) + advection_2[k];
    v_2[k] = v_1[k];
    v_1[k] = v[k];
    advection_2[k] = advection_1[k];
    advection_1[k] = advection[k];
  }
}

/// Out of the weak form: from tested values to values at points.
[[gnu::noinline]] void take_out_mass(const Mesh& mesh, const Field& tested, Field& values) {
  const auto size = static_cast<std::int64_t>(mesh.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < size; ++k) values[k] = tested[k];
  sum_shared(mesh, values);
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < size; ++k) values[k] *= mesh.inverse_mass[k];
}

[[gnu::noinline]] void find_residual(const Mesh& mesh, const Field& right, Krylov& cg) {
  const auto size = static_cast<std::int64_t>(mesh.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < size; ++k) cg.residual[k] = right[k] - cg.image[k];
  sum_shared(mesh, cg.residual);
}

/// The pressure that makes the next velocity free of divergence.
void solve_pressure(Flow& flow, Findings& findings) {
  const Mesh& mesh = flow.mesh;
  workloads::phase("divergence");
  take_out_mass(mesh, flow.right_x, flow.driven_x);
  take_out_mass(mesh, flow.right_y, flow.driven_y);
  weak_divergence(mesh, flow.driven_x, flow.driven_y, flow.pressure_cg.residual);
  sum_shared(mesh, flow.pressure_cg.residual);

  workloads::phase("project");
  project(mesh, flow.earlier, flow.partial, flow.pressure, flow.pressure_cg.residual);

  workloads::phase("pressure");
  // A residual of the pressure's makes an error of the velocity by the step's time and a length of about 1/10.
  const double tolerance = 10.0 * k_velocity_tolerance / flow.dt;
  const Solved solved =
      solve_laplacian(mesh, flow.pressure_cg, flow.coarse, flow.partial, tolerance, flow.pressure);
  findings.pressure_iterations = solved.iterations;
  findings.converged = findings.converged && solved.residual <= tolerance;

  workloads::phase("remember");
  remember_pressure(flow);
}

void solve_component(Flow& flow, const Field& right, Field& v, Findings& findings) {
  apply_helmholtz(flow.mesh, flow.diffusion, flow.reaction, v, flow.velocity_cg.image);
  find_residual(flow.mesh, right, flow.velocity_cg);
  const double tolerance = k_velocity_tolerance * k_leading / flow.dt;
  const Solved solved =
      solve_helmholtz(flow.mesh, flow.diffusion, flow.reaction, flow.velocity_cg, flow.partial, tolerance, v);
  findings.velocity_iterations += solved.iterations;
  findings.converged = findings.converged && solved.residual <= tolerance;
}

/// The next velocity, pushed by the pressure, slowed by viscosity, and filtered.
void solve_velocity(Flow& flow, Findings& findings) {
  const Mesh& mesh = flow.mesh;
  workloads::phase("gradient");
  subtract_gradient(mesh, flow.pressure, flow.right_x, flow.right_y);

  workloads::phase("helmholtz.x");
  solve_component(flow, flow.right_x, flow.vx, findings);

  workloads::phase("helmholtz.y");
  solve_component(flow, flow.right_y, flow.vy, findings);

  workloads::phase("filter");
  for (Field* component : {&flow.vx, &flow.vy}) {
    filter(mesh, *component);
    average_shared(mesh, *component);
  }
}

void monitor(Flow& flow, Findings& findings) {
  workloads::phase("monitor");
  flow.time += flow.dt;
  divergence_and_vorticity(flow.mesh, flow.vx, flow.vy, flow.divergence, flow.vorticity);
  const auto square = [](double value) { return value * value; };
  findings.energy = 0.5 * mean(flow, [&](std::int64_t k) { return square(flow.vx[k]) + square(flow.vy[k]); });
  findings.enstrophy = 0.5 * mean(flow, [&](std::int64_t k) { return square(flow.vorticity[k]); });
  findings.divergence = std::sqrt(mean(flow, [&](std::int64_t k) { return square(flow.divergence[k]); }));
}

void size_velocity(Flow& flow) {
  const std::size_t size = flow.mesh.size();
  flow.vx.resize(size);
  flow.vy.resize(size);
  flow.vx_1.resize(size);
  flow.vy_1.resize(size);
  flow.vx_2.resize(size);
  flow.vy_2.resize(size);
  flow.advection_x.resize(size);
  flow.advection_y.resize(size);
  flow.advection_x_1.resize(size);
  flow.advection_y_1.resize(size);
  flow.advection_x_2.resize(size);
  flow.advection_y_2.resize(size);
  flow.right_x.resize(size);
  flow.right_y.resize(size);
  flow.driven_x.resize(size);
  flow.driven_y.resize(size);
  flow.carried_r.resize(flow.mesh.fine_size());
  flow.carried_s.resize(flow.mesh.fine_size());
  flow.divergence.resize(size);
  flow.vorticity.resize(size);
}

void size_solvers(Flow& flow) {
  const std::size_t size = flow.mesh.size();
  flow.pressure.resize(size);
  flow.partial.resize(static_cast<std::size_t>(flow.mesh.elements()));
  flow.diffusion.assign(size, k_viscosity);
  flow.reaction.assign(size, k_leading / flow.dt);
  flow.pressure_cg.residual.resize(size);
  flow.pressure_cg.preconditioned.resize(size);
  flow.pressure_cg.direction.resize(size);
  flow.pressure_cg.image.resize(size);
  flow.pressure_cg.inverse_diagonal.resize(size);
  flow.velocity_cg.residual.resize(size);
  flow.velocity_cg.preconditioned.resize(size);
  flow.velocity_cg.direction.resize(size);
  flow.velocity_cg.image.resize(size);
  flow.velocity_cg.inverse_diagonal.resize(size);
  flow.earlier.solutions.resize(k_earlier * size);
  flow.earlier.images.resize(k_earlier * size);
  flow.earlier.products.resize(k_earlier * k_earlier);
}

void find_diagonals(Flow& flow) {
  Field& laplacian = flow.pressure_cg.inverse_diagonal;
  Field& helmholtz = flow.velocity_cg.inverse_diagonal;
  laplacian_diagonal(flow.mesh, laplacian);
  for (std::size_t k = 0; k < laplacian.size(); ++k) {
    helmholtz[k] = flow.diffusion[k] * laplacian[k] + flow.reaction[k] * flow.mesh.mass[k];
  }
  sum_shared(flow.mesh, laplacian);
  sum_shared(flow.mesh, helmholtz);
  for (double& entry : laplacian) entry = 1.0 / entry;
  for (double& entry : helmholtz) entry = 1.0 / entry;
}

/// As if steps had been made before: the first one is like all others.
void set_past(Flow& flow) {
  const Mesh& mesh = flow.mesh;
  set_velocity(mesh, 0.0, flow.vx, flow.vy);
  set_velocity(mesh, -flow.dt, flow.vx_1, flow.vy_1);
  set_velocity(mesh, -2.0 * flow.dt, flow.vx_2, flow.vy_2);
  find_advection(flow, flow.vx_1, flow.vy_1, flow.advection_x_1, flow.advection_y_1);
  find_advection(flow, flow.vx_2, flow.vy_2, flow.advection_x_2, flow.advection_y_2);
  for (int age = k_earlier - 1; age >= 0; --age) {
    for (std::size_t k = 0; k < mesh.size(); ++k) {
      flow.pressure[k] = exact_solution(mesh.x[k], mesh.y[k], -age * flow.dt).pressure;
    }
    remember_pressure(flow);
  }
}

}  // namespace

Flow make_flow(std::int64_t side, int order, double dt, const Part& part) {
  Flow flow;
  flow.dt = dt;
  flow.mesh = make_mesh(side, make_basis(order, 1.0 - std::exp(-k_filter_rate * dt)), part);
  size_velocity(flow);
  size_solvers(flow);
  flow.coarse = make_coarse(flow.mesh);
  find_diagonals(flow);
  set_past(flow);
  return flow;
}

Findings step(Flow& flow) {
  const Mesh& mesh = flow.mesh;
  workloads::phase("convect");
  find_advection(flow, flow.vx, flow.vy, flow.advection_x, flow.advection_y);

  workloads::phase("extrapolate");
  extrapolate(mesh, flow.dt, flow.vx, flow.vx_1, flow.vx_2, flow.advection_x, flow.advection_x_1,
              flow.advection_x_2, flow.right_x);
  extrapolate(mesh, flow.dt, flow.vy, flow.vy_1, flow.vy_2, flow.advection_y, flow.advection_y_1,
              flow.advection_y_2, flow.right_y);

  Findings findings;
  solve_pressure(flow, findings);
  solve_velocity(flow, findings);
  monitor(flow, findings);
  return findings;
}

Errors find_errors(const Flow& flow) {
  const Mesh& mesh = flow.mesh;
  std::vector<double> exact_pressure(mesh.size());
  double exact_mean = 0.0;
  Errors errors{0.0, 0.0};
  // Negated so that what is not a number counts as wrong.
  const auto take = [](double error, double& largest) {
    if (!(std::abs(error) <= largest)) largest = std::abs(error);
  };
  for (std::size_t k = 0; k < mesh.size(); ++k) {
    const Exact exact = exact_solution(mesh.x[k], mesh.y[k], flow.time);
    take(flow.vx[k] - exact.vx, errors.velocity);
    take(flow.vy[k] - exact.vy, errors.velocity);
    exact_pressure[k] = exact.pressure;
    exact_mean += mesh.mass[k] * exact.pressure / k_area;
  }
  const workloads::Processes& processes = mesh.part->processes();
  exact_mean = processes.sum(exact_mean);
  for (std::size_t k = 0; k < mesh.size(); ++k) {
    take(flow.pressure[k] - (exact_pressure[k] - exact_mean), errors.pressure);
  }
  return {processes.maximum(errors.velocity), processes.maximum(errors.pressure)};
}

}  // namespace eddy
