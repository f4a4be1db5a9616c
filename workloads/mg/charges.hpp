// Declares the right-hand side of NPB MG: ten charges of +1 and ten of -1 at random points.
#pragma once

#include "mg/operators.hpp"

namespace mg {

/// Fills v, ghosts included: the points with the ten largest of the benchmark's random numbers get +1, those
/// with the ten smallest -1, all others 0.
void zran3(Grid v);

}  // namespace mg
