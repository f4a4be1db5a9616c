// Declares the two triangular solves of NPB LU, phases `lower` and `upper` of its iterations.
#pragma once

#include "lu/fields.hpp"

namespace lu {

constexpr double k_omega = 1.2;  // the over-relaxation

// Each replaces rsd by the solution of its system, plane by plane: lower() upwards, upper() downwards. lower()
// multiplies rsd by dt first. A process that has a part of the grid needs the neighbours' solutions along x and y:
// lower() before its first points, upper() after its last ones.
void lower(const cfd::Cube& cube, double dt, const Fields& fields);
void upper(const cfd::Cube& cube, double dt, const Fields& fields);

}  // namespace lu
