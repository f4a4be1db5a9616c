// Declares the surface integral by which, with its norms, NPB LU is verified at the end of a run.
#pragma once

#include "cfd/cube.hpp"

namespace lu {

/// The integral of pressure over the surface of a box inside the grid.
double surface_integral(const cfd::Cube& cube, cfd::Together u);

}  // namespace lu
