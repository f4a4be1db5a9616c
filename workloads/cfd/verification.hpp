// Verifies BT, SP and LU at the end of a run: root mean squares of the residual that is left and of the error, and
// for LU a surface integral, against the values published with NPB 3.x.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "cfd/equations.hpp"
#include "common/npb.hpp"
#include "common/processes.hpp"

namespace cfd {

struct Norms {
  State residual{};
  State error{};
  double surface = 0.0;  // LU's alone, elsewhere 0
};

/// A class of a pseudo-application, with the norms after its own number of iterations.
struct Problem {
  char name;
  int side;
  std::uint64_t iterations;
  double dt;
  Norms norms;
};

template <std::size_t Count>
const Problem& problem_of(const Problem (&problems)[Count], char problem_class) {
  return *std::find_if(std::begin(problems), std::end(problems),
                       [&](const Problem& problem) { return problem.name == problem_class; });
}

/// The root mean square over the interior of what value(m, i, j, k) gives. One thread of a process sums, so that
/// the result does not depend on how many there are.
template <typename Value>
State root_mean_square(const Cube& cube, const workloads::Processes& processes, Value value) {
  State sums{};
  for (int k = cube.inside[2].begin; k < cube.inside[2].end; ++k) {
    for (int j = cube.inside[1].begin; j < cube.inside[1].end; ++j) {
      for (int i = cube.inside[0].begin; i < cube.inside[0].end; ++i) {
        const State found = value(i, j, k);
        for (int m = 0; m < k_unknowns; ++m) sums[m] += found[m] * found[m];
      }
    }
  }
  processes.sum(sums.data(), k_unknowns);
  const double side = cube.n - 2;
  for (double& sum : sums) sum = std::sqrt(sum / (side * side * side));
  return sums;
}

template <typename Field>
State residual_norm(const Cube& cube, const workloads::Processes& processes, Field rhs) {
  return root_mean_square(cube, processes, [&](int i, int j, int k) {
    State state;
    for (int m = 0; m < k_unknowns; ++m) state[m] = rhs(m, cube.at(i, j, k));
    return state;
  });
}

/// The error is 0 on the boundary.
template <typename Field>
State error_norm(const Cube& cube, const workloads::Processes& processes, Field u) {
  return root_mean_square(cube, processes, [&](int i, int j, int k) {
    State state = exact_at(cube, i, j, k);
    for (int m = 0; m < k_unknowns; ++m) state[m] -= u(m, cube.at(i, j, k));
    return state;
  });
}

/// Operations of an iteration, as the benchmarks count them: a polynomial in the side.
struct Operations {
  double volume;
  double area;
  double length;
  double constant;

  double of(int side) const {
    const double n = side;
    return ((volume * n + area) * n + length) * n + constant;
  }
};

/// Prints all norms and the result block, in the first process. Returns the program's exit status: 0 when all are
/// right, else 1.
int report(const std::string& name, const Problem& problem, std::uint64_t iterations, double seconds,
           const Operations& operations, const Norms& found, const workloads::Processes& processes);

}  // namespace cfd
