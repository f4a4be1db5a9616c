// Declares the surface integral by which, with its norms, NPB LU is verified at the end of a run.
#pragma once

#include "cfd/cube.hpp"
#include "common/processes.hpp"

namespace lu {

/// The integral of pressure over the surface of a box inside the grid. u must be up to date in the layers around
/// the process's own points.
double surface_integral(const cfd::Cube& cube, const workloads::Processes& processes, cfd::Together u);

}  // namespace lu
