// Declares the arrays that the operators of NPB SP work on, by the benchmark's names.
#pragma once

#include "cfd/rhs.hpp"

namespace sp {

struct Fields {
  cfd::Apart u;
  cfd::Apart rhs;
  cfd::Derived derived;
  double* speed;  // of sound
  double* ainv;   // 1 / speed
  double* lhs;    // 15 values a point, each a grid of its own: the five bands of three matrices
};

}  // namespace sp
