// Declares the residual of NPB LU, which lu.cpp computes before the first iteration and in each.
#pragma once

#include "lu/fields.hpp"

namespace lu {

/// rsd = the differences of the fluxes of u, less frct.
void compute_rhs(const cfd::Cube& cube, const Fields& fields);

}  // namespace lu
