// Declares the three implicit operators of NPB SP, which sp.cpp calls: scalar pentadiagonal systems along lines.
#pragma once

#include "sp/fields.hpp"

namespace sp {

// Each replaces rhs by the solution of its direction's systems. Values on the boundary stay.
void x_solve(const cfd::Cube& cube, double dt, const Fields& fields);
void y_solve(const cfd::Cube& cube, double dt, const Fields& fields);
void z_solve(const cfd::Cube& cube, double dt, const Fields& fields);

}  // namespace sp
