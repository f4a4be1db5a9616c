// Adds fourth differences, which damp what the grid of BT, SP and LU cannot resolve. RNR-94-007, section 3.
#pragma once

#include "cfd/equations.hpp"

namespace cfd {

/// The part of dissipate() that one sweep does: the unknowns from First on.
template <int Direction, int First, typename Field>
void dissipate_from(const Cube& cube, Field u, Field rhs) {
  const std::ptrdiff_t s = cube.stride<Direction>();
  const int last = cube.n - 2;
#pragma omp parallel for schedule(static)
  for (int k = cube.inside[2].begin; k < cube.inside[2].end; ++k) {
    for (int j = cube.inside[1].begin; j < cube.inside[1].end; ++j) {
      for (int i = cube.inside[0].begin; i < cube.inside[0].end; ++i) {
        const std::ptrdiff_t p = cube.at(i, j, k);
        const int place = Direction == 0 ? i : Direction == 1 ? j : k;
        const auto damp = [&](auto difference) {
#pragma GCC unroll 5
          for (int m = First; m < First + Field::k_at_once; ++m) rhs(m, p) -= k_dissipation * difference(m);
        };
        if (place > 2 && place < last - 1) {
          damp([&](int m) {
            return u(m, p - 2 * s) - 4.0 * u(m, p - s) + 6.0 * u(m, p) - 4.0 * u(m, p + s) + u(m, p + 2 * s);
          });
        } else if (place == 1) {
          damp([&](int m) { return 5.0 * u(m, p) - 4.0 * u(m, p + s) + u(m, p + 2 * s); });
        } else if (place == 2) {
          damp([&](int m) { return -4.0 * u(m, p - s) + 6.0 * u(m, p) - 4.0 * u(m, p + s) + u(m, p + 2 * s); });
        } else if (place == last - 1) {
          damp([&](int m) { return u(m, p - 2 * s) - 4.0 * u(m, p - s) + 6.0 * u(m, p) - 4.0 * u(m, p + s); });
        } else {
          damp([&](int m) { return u(m, p - 2 * s) - 4.0 * u(m, p - s) + 5.0 * u(m, p); });
        }
      }
    }
  }
}

/// Subtracts from rhs the fourth differences of u along a direction. Next to the boundary they are cut short.
/// Where each unknown has a grid of its own, so has it a sweep of its own.
template <int Direction, typename Field>
void dissipate(const Cube& cube, Field u, Field rhs) {
  dissipate_from<Direction, 0>(cube, u, rhs);
  if constexpr (Field::k_at_once == 1) {
    dissipate_from<Direction, 1>(cube, u, rhs);
    dissipate_from<Direction, 2>(cube, u, rhs);
    dissipate_from<Direction, 3>(cube, u, rhs);
    dissipate_from<Direction, 4>(cube, u, rhs);
  }
}

}  // namespace cfd
