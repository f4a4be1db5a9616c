// Declares the right-hand side of NPB MG: ten charges of +1 and ten of -1 at random points.
#pragma once

#include <vector>

#include "mg/operators.hpp"

namespace mg {

/// A charge at a point of the interior, whose indices are 1 to the number of points a side.
struct Charge {
  double value;
  int i3, i2, i1;
};

/// Draws the charges of a cube of `side` points a side: +1 at the ten largest of the benchmark's random numbers,
/// -1 at the ten smallest.
std::vector<Charge> draw_charges(int side);

/// Fills v, ghosts included, with the charges and 0 elsewhere.
void zran3(Grid v);

}  // namespace mg
