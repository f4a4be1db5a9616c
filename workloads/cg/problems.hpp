// Lists the classes (problem sizes) of NPB CG and the values published with NPB 3.x, by which cg.cpp verifies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "cg/matrix.hpp"

namespace cg {

constexpr int k_steps = 25;  // of conjugate gradients, in each iteration

struct Problem {
  char name;
  MatrixShape shape;
  std::uint64_t iterations;
  double zeta;
};

constexpr Problem k_problems[] = {{'S', {1400, 7, 10.0}, 15, 8.5971775078648},
                                  {'W', {7000, 8, 12.0}, 15, 10.362595087124},
                                  {'A', {14000, 11, 20.0}, 15, 17.130235054029},
                                  {'B', {75000, 13, 60.0}, 75, 22.712745482631},
                                  {'C', {150000, 15, 110.0}, 75, 28.973605592845}};

inline const Problem& problem_of(char problem_class) {
  return *std::find_if(std::begin(k_problems), std::end(k_problems),
                       [&](const Problem& problem) { return problem.name == problem_class; });
}

/// Returns the number of floating-point operations as the benchmark counts them.
inline double operations(const Problem& problem, std::uint64_t iterations) {
  const double per_row = problem.shape.nonzeros * (problem.shape.nonzeros + 1.0);
  return 2.0 * static_cast<double>(iterations) * problem.shape.order *
         (3.0 + per_row + k_steps * (5.0 + per_row) + 3.0);
}

}  // namespace cg
