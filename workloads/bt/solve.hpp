// Declares the three implicit operators of NPB BT, which bt.cpp calls: block-tridiagonal systems along lines.
#pragma once

#include "cfd/rhs.hpp"

namespace bt {

/// The arrays that the solvers work on. lhsc has a 5 x 5 block a point.
struct Fields {
  cfd::Together u;
  cfd::Together rhs;
  cfd::Derived derived;
  double* lhsc;
};

// Each replaces rhs by the solution of its direction's systems. Values on the boundary stay.
void x_solve(const cfd::Cube& cube, double dt, const Fields& fields);
void y_solve(const cfd::Cube& cube, double dt, const Fields& fields);
void z_solve(const cfd::Cube& cube, double dt, const Fields& fields);

// Solve in two halves, for lines that pass from process to process. eliminate_lines() needs lhsc and rhs at the
// point before a process's part of a line. substitute_lines() needs rhs at the point after it.
template <int Direction>
void eliminate_lines(const cfd::Cube& cube, double dt, const Fields& fields);
template <int Direction>
void substitute_lines(const cfd::Cube& cube, const Fields& fields);

}  // namespace bt
