// The surface integral by which NPB LU is verified beside its norms.
#pragma once

#include "cfd/cube.hpp"

namespace lu {

/// The integral of pressure over the surface of a box inside the grid.
double surface_integral(const cfd::Cube& cube, cfd::Together u);

}  // namespace lu
