// Declares the three implicit operators of NPB SP, which sp.cpp calls: scalar pentadiagonal systems along lines.
#pragma once

#include "sp/fields.hpp"

namespace sp {

// Each replaces rhs by the solution of its direction's systems. Values on the boundary stay.
void x_solve(const cfd::Cube& cube, double dt, const Fields& fields);
void y_solve(const cfd::Cube& cube, double dt, const Fields& fields);
void z_solve(const cfd::Cube& cube, double dt, const Fields& fields);

constexpr int k_matrices = 3;
constexpr int k_bands = 5;

/// The bands of one of the three matrices: (0..4, point) are what multiplies the unknowns two before, one before,
/// at, one after, two after the point. The first is that of the three waves that travel with the flow, the other
/// two are those of sound, forwards and backwards.
inline cfd::Apart matrix(const Fields& fields, int number) {
  return {fields.lhs + number * k_bands * fields.u.points, fields.u.points};
}

// Solve in two halves, for lines that pass from process to process. eliminate_lines() needs, at the two points
// before a process's part of a line, the bands 3 and 4 of the matrices and rhs. substitute_lines() needs rhs at
// the two points after it.
template <int Direction>
void eliminate_lines(const cfd::Cube& cube, double dt, const Fields& fields);
template <int Direction>
void substitute_lines(const cfd::Cube& cube, const Fields& fields);

}  // namespace sp
