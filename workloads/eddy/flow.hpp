// Declares eddy's flow and a time step: third-order backward differences, advection extrapolated from three steps.
// First the pressure that makes the next velocity free of divergence, then viscosity, for each component alone.
// Source: Karniadakis, Israeli and Orszag, "High-order splitting methods for the incompressible Navier-Stokes
// equations", J. Comput. Phys. 97, 1991. Pressure and velocity have the same points (PN-PN). Where there are no
// walls, as here, the splitting itself makes no error.
#pragma once

#include "eddy/mesh.hpp"
#include "eddy/solver.hpp"

namespace eddy {

/// Largest residual of a velocity that the solvers leave in a step.
constexpr double k_velocity_tolerance = 1e-10;

/// Fields by component; `_1` and `_2` are one and two steps older.
struct Flow {
  Mesh mesh;
  double dt = 0;
  double time = 0;

  Field vx, vy, vx_1, vy_1, vx_2, vy_2;
  Field pressure;  // of mean 0
  Field advection_x, advection_y, advection_x_1, advection_y_1, advection_x_2, advection_y_2;
  Field right_x, right_y;      // right-hand sides
  Field driven_x, driven_y;    // what the past and advection make of the velocity, over a step's time
  Field diffusion, reaction;   // of the Helmholtz equation: the viscosity, and 11/6 by the step's time
  Field carried_r, carried_s;  // the velocity on the finer grid
  Field divergence, vorticity;
  Field partial;  // a number for each element
  Krylov pressure_cg, velocity_cg;
  Coarse coarse;
  Earlier earlier;
};

/// Findings of a step.
struct Findings {
  int pressure_iterations = 0;
  int velocity_iterations = 0;
  bool converged = true;
  double energy = 0;      // kinetic, mean over the square
  double enstrophy = 0;   // half the vorticity's square, mean over the square
  double divergence = 0;  // its root mean square
};

/// Makes a process's part of Walsh's eddies at time 0, with the exact solution at the times before. Borrows
/// `part`.
Flow make_flow(std::int64_t side, int order, double dt, const Part& part);

/// One step of time; marks its phases.
Findings step(Flow& flow);

struct Errors {
  double velocity, pressure;  // the largest of all points
};

/// Against the exact solution.
Errors find_errors(const Flow& flow);

}  // namespace eddy
