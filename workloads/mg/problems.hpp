// Lists the classes (problem sizes) of NPB MG and the norms published with NPB 3.x, by which mg.cpp verifies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

#include "mg/operators.hpp"

namespace mg {

struct Problem {
  char name;
  int side;
  std::uint64_t iterations;
  Stencil smoother;
  double norm;
};

constexpr Problem k_problems[] = {{'S', 32, 4, k_smoother_small, 0.5307707005734e-04},
                                  {'W', 128, 4, k_smoother_small, 0.6467329375339e-05},
                                  {'A', 256, 4, k_smoother_small, 0.2433365309069e-05},
                                  {'B', 256, 20, k_smoother_large, 0.1800564401355e-05},
                                  {'C', 512, 20, k_smoother_large, 0.5706732285740e-06}};

inline const Problem& problem_of(char problem_class) {
  return *std::find_if(std::begin(k_problems), std::end(k_problems),
                       [&](const Problem& problem) { return problem.name == problem_class; });
}

/// Returns the number of floating-point operations as the benchmark counts them.
inline double operations(const Problem& problem, std::uint64_t iterations) {
  return 58.0 * static_cast<double>(iterations) * problem.side * problem.side * problem.side;
}

inline std::string size_of(const Problem& problem) {
  const std::string side = std::to_string(problem.side);
  return side + "x" + side + "x" + side;
}

}  // namespace mg
