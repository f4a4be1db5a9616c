// Declares the two triangular solves of NPB LU, phases `lower` and `upper` of its iterations.
#pragma once

#include "lu/fields.hpp"

namespace lu {

constexpr double k_omega = 1.2;  // the over-relaxation

// Each replaces rsd by the solution of its system, plane by plane: lower() upwards, upper() downwards. lower()
// multiplies rsd by dt first.
void lower(const cfd::Cube& cube, double dt, const Fields& fields);
void upper(const cfd::Cube& cube, double dt, const Fields& fields);

}  // namespace lu
