// Declares the arrays of NPB LU, by the benchmark's names; all steps of LU work on them.
#pragma once

#include "cfd/cube.hpp"

namespace lu {

struct Fields {
  cfd::Together u;
  cfd::Together rsd;   // the residual; during an iteration what is added to u
  cfd::Together frct;  // the forcing
  cfd::Together flux;
  // A 5 x 5 block for each point of a plane: of a neighbour along z (a when going up, c when going down), along y,
  // along x, and the point's own.
  double* a;
  double* b;
  double* c;
  double* d;
};

}  // namespace lu
