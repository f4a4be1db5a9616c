// Solves NPB SP's pentadiagonal systems. Source: RNR-94-007, section 3.
//
// As in the benchmark's version for several processes, the bands of all lines are set up over the whole grid, then
// all lines are eliminated forwards, then all substituted backwards; sweeps pass points in the order of storage
// where the systems allow it.
#include "sp/solve.hpp"

#include <algorithm>

namespace sp {
namespace {

constexpr int k_bands = 5;

/// The bands of one of the three matrices: (0..4, point) are what multiplies the unknowns two before, one before,
/// at, one after, two after the point. The first is that of the three waves that travel with the flow, the other
/// two are those of sound, forwards and backwards.
cfd::Apart matrix(const Fields& fields, int number) {
  return {fields.lhs + number * k_bands * fields.u.points, fields.u.points};
}

/// Factors and velocities of the systems of a direction.
struct System {
  System(const cfd::Cube& cube, double dt, int direction, const double* velocities)
      : n(cube.n),
        carry(dt * 0.5 * (cube.n - 1)),
        spread(dt * (cube.n - 1) * (cube.n - 1)),
        diffusion(cfd::k_diffusion[direction]),
        damping(dt * cfd::k_dissipation),
        velocity(velocities) {}

  int n;
  double carry;
  double spread;
  double diffusion;
  double damping;
  const double* velocity;
};

void set_bands(cfd::Apart bands, std::ptrdiff_t p, const std::array<double, k_bands>& values) {
#pragma GCC unroll 5
  for (int b = 0; b < k_bands; ++b) bands(b, p) = values[b];
}

/// The fourth differences' part of row `place` of a line.
std::array<double, k_bands> damping_at(int place, const System& system) {
  std::array<double, k_bands> values{1.0, -4.0, 6.0, -4.0, 1.0};
  if (place <= 2) values[0] = 0.0;
  if (place == 1) values[1] = 0.0;
  if (place == 1 || place == system.n - 2) values[2] = 5.0;
  if (place == system.n - 2) values[3] = 0.0;
  if (place >= system.n - 3) values[4] = 0.0;
  for (double& value : values) value *= system.damping;
  return values;
}

/// Sets up the three matrices' rows of the line of stride `s` that begins at the boundary point `begin`.
void set_up_line(const System& system, const Fields& fields, std::ptrdiff_t begin, std::ptrdiff_t s) {
  const cfd::Apart flow = matrix(fields, 0);
  const cfd::Apart forth = matrix(fields, 1);
  const cfd::Apart back = matrix(fields, 2);
  const double* const rho_i = fields.derived.rho_i;
  const double* const speed = fields.speed;
  // The largest of what diffuses momentum, energy and density.
  const auto spread = [&](std::ptrdiff_t p) {
    return system.spread * (system.diffusion + cfd::k_viscosity * cfd::k_conduction * rho_i[p]);
  };
  for (const std::ptrdiff_t p : {begin, begin + (system.n - 1) * s}) {
    for (const cfd::Apart& bands : {flow, forth, back}) set_bands(bands, p, {0.0, 0.0, 1.0, 0.0, 0.0});
  }
  for (int place = 1; place < system.n - 1; ++place) {
    const std::ptrdiff_t p = begin + place * s;
    auto row = damping_at(place, system);
    row[1] -= system.carry * system.velocity[p - s] + spread(p - s);
    row[2] += 1.0 + 2.0 * spread(p);
    row[3] += system.carry * system.velocity[p + s] - spread(p + s);
    const double before = system.carry * speed[p - s];
    const double after = system.carry * speed[p + s];
    set_bands(flow, p, row);
    set_bands(forth, p, {row[0], row[1] - before, row[2], row[3] + after, row[4]});
    set_bands(back, p, {row[0], row[1] + before, row[2], row[3] - after, row[4]});
  }
}

/// Which unknowns a matrix belongs to: [First, Last).
template <int First, int Last>
struct Unknowns {
  cfd::Apart rhs;

  /// Eliminates the unknown at p from the next `rows` rows of its line.
  void eliminate(cfd::Apart bands, std::ptrdiff_t p, std::ptrdiff_t s, int rows) const {
    const double scale = 1.0 / bands(2, p);
    const double next = bands(3, p) *= scale;
    const double second = bands(4, p) *= scale;
#pragma GCC unroll 3
    for (int m = First; m < Last; ++m) rhs(m, p) *= scale;
    for (int row = 1; row <= rows; ++row) {
      const std::ptrdiff_t at = p + row * s;
      const int band = 2 - row;
      const double factor = bands(band, at);
      bands(band + 1, at) -= factor * next;
      bands(band + 2, at) -= factor * second;
#pragma GCC unroll 3
      for (int m = First; m < Last; ++m) rhs(m, at) -= factor * rhs(m, p);
    }
  }
};

/// Calls work(p, place) for all points of all lines of a direction that lie in the interior's cross section, with
/// place running from 0 to n-1: those of a line in this order, or backwards; otherwise in the order of storage.
template <int Direction, bool Backwards, typename Work>
void along_lines(const cfd::Cube& cube, Work work) {
  const int n = cube.n;
  const auto turned = [n](int place) { return Backwards ? n - 1 - place : place; };
  if constexpr (Direction == 2) {
    // All threads pass the planes in order, each with its own lines, so no thread waits for a plane's end.
#pragma omp parallel
    for (int step = 0; step < n; ++step) {
      const int k = turned(step);
#pragma omp for schedule(static) nowait
      for (int j = 1; j < n - 1; ++j) {
        for (int i = 1; i < n - 1; ++i) work(cube.at(i, j, k), k);
      }
    }
  } else {
#pragma omp parallel for schedule(static)
    for (int k = 1; k < n - 1; ++k) {
      if constexpr (Direction == 0) {
        for (int j = 1; j < n - 1; ++j) {
          for (int step = 0; step < n; ++step) work(cube.at(turned(step), j, k), turned(step));
        }
      } else {
        for (int step = 0; step < n; ++step) {
          for (int i = 1; i < n - 1; ++i) work(cube.at(i, turned(step), k), turned(step));
        }
      }
    }
  }
}

template <int Direction, int First, int Last>
void forward(const cfd::Cube& cube, const Fields& fields, int number) {
  const std::ptrdiff_t s = cube.stride<Direction>();
  const cfd::Apart bands = matrix(fields, number);
  const Unknowns<First, Last> unknowns{fields.rhs};
  along_lines<Direction, false>(cube, [=, n = cube.n](std::ptrdiff_t p, int place) {
    unknowns.eliminate(bands, p, s, std::min(2, n - 1 - place));
  });
}

/// Substitutes unknown m, once its lines are eliminated.
template <int Direction>
void backward(const cfd::Cube& cube, const Fields& fields, int number, int m) {
  const std::ptrdiff_t s = cube.stride<Direction>();
  const cfd::Apart bands = matrix(fields, number);
  const cfd::Apart rhs = fields.rhs;
  along_lines<Direction, true>(cube, [=, last = cube.n - 1](std::ptrdiff_t p, int place) {
    if (place == last) return;
    double known = bands(3, p) * rhs(m, p + s);
    if (place < last - 1) known += bands(4, p) * rhs(m, p + 2 * s);
    rhs(m, p) -= known;
  });
}

template <int Direction>
void solve(const cfd::Cube& cube, const Fields& fields) {
  forward<Direction, 0, 3>(cube, fields, 0);
  forward<Direction, 3, 4>(cube, fields, 1);
  forward<Direction, 4, 5>(cube, fields, 2);
  for (int m = 0; m < 3; ++m) backward<Direction>(cube, fields, 0, m);
  backward<Direction>(cube, fields, 1, 3);
  backward<Direction>(cube, fields, 2, 4);
}

}  // namespace

[[gnu::noinline]] void x_solve(const cfd::Cube& cube, double dt, const Fields& fields) {
  const System system(cube, dt, 0, fields.derived.us);
#pragma omp parallel for schedule(static)
  for (int k = 1; k < cube.n - 1; ++k) {
    for (int j = 1; j < cube.n - 1; ++j) set_up_line(system, fields, cube.at(0, j, k), cube.stride<0>());
  }
  solve<0>(cube, fields);
}

[[gnu::noinline]] void y_solve(const cfd::Cube& cube, double dt, const Fields& fields) {
  const System system(cube, dt, 1, fields.derived.vs);
#pragma omp parallel for schedule(static)
  for (int k = 1; k < cube.n - 1; ++k) {
    for (int i = 1; i < cube.n - 1; ++i) set_up_line(system, fields, cube.at(i, 0, k), cube.stride<1>());
  }
  solve<1>(cube, fields);
}

[[gnu::noinline]] void z_solve(const cfd::Cube& cube, double dt, const Fields& fields) {
  const System system(cube, dt, 2, fields.derived.ws);
#pragma omp parallel for schedule(static)
  for (int j = 1; j < cube.n - 1; ++j) {
    for (int i = 1; i < cube.n - 1; ++i) set_up_line(system, fields, cube.at(i, j, 0), cube.stride<2>());
  }
  solve<2>(cube, fields);
}

}  // namespace sp
