// Declares the steps of NPB SP between unknowns and characteristic variables, on which the solvers work. Each
// changes rhs point by point.
#pragma once

#include "sp/fields.hpp"

namespace sp {

// To the characteristic variables of x; from those of x to those of y; from y's to z's; back from z's.
void txinvr(const cfd::Cube& cube, const Fields& fields);
void ninvr(const cfd::Cube& cube, const Fields& fields);
void pinvr(const cfd::Cube& cube, const Fields& fields);
void tzetar(const cfd::Cube& cube, const Fields& fields);

}  // namespace sp
