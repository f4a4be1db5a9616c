// Solves NPB SP's pentadiagonal systems. Source: RNR-94-007, section 3.
//
// As in the benchmark's version for several processes, the bands of all lines are set up over the whole grid, then
// all lines are eliminated forwards, then all substituted backwards; sweeps pass points in the order of storage
// where the systems allow it.
#include "sp/solve.hpp"

#include <algorithm>

namespace sp {
namespace {

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

/// Sets up the three matrices' rows of a part of a line of stride `s`. Its first point is `begin`.
void set_up_line(const System& system, const Fields& fields, cfd::Range line, std::ptrdiff_t begin,
                 std::ptrdiff_t s) {
  const cfd::Apart flow = matrix(fields, 0);
  const cfd::Apart forth = matrix(fields, 1);
  const cfd::Apart back = matrix(fields, 2);
  const double* const rho_i = fields.derived.rho_i;
  const double* const speed = fields.speed;
  // The largest of what diffuses momentum, energy and density.
  const auto spread = [&](std::ptrdiff_t p) {
    return system.spread * (system.diffusion + cfd::k_viscosity * cfd::k_conduction * rho_i[p]);
  };
  for (const int place : {0, system.n - 1}) {
    if (!line.contains(place)) continue;
    const std::ptrdiff_t p = begin + (place - line.begin) * s;
    for (const cfd::Apart& bands : {flow, forth, back}) set_bands(bands, p, {0.0, 0.0, 1.0, 0.0, 0.0});
  }
  for (int place = std::max(line.begin, 1); place < std::min(line.end, system.n - 1); ++place) {
    const std::ptrdiff_t p = begin + (place - line.begin) * s;
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
    for (int row = 1; row <= rows; ++row) subtract(bands, p, p + row * s, 2 - row, next, second);
  }

  /// Subtracts the eliminated row p from the row `at`, in which the unknown at p has the band `band`.
  void subtract(cfd::Apart bands, std::ptrdiff_t p, std::ptrdiff_t at, int band, double next,
                double second) const {
    const double factor = bands(band, at);
    bands(band + 1, at) -= factor * next;
    bands(band + 2, at) -= factor * second;
#pragma GCC unroll 3
    for (int m = First; m < Last; ++m) rhs(m, at) -= factor * rhs(m, p);
  }
};

/// Calls work(p, place) for the points `line` of all lines of a direction that lie in the interior's cross
/// section: those of a line in this order, or backwards; otherwise in the order of storage.
template <int Direction, bool Backwards, typename Work>
void along_lines(const cfd::Cube& cube, cfd::Range line, Work work) {
  const cfd::Range x = cube.inside[0];
  const cfd::Range y = cube.inside[1];
  const cfd::Range z = cube.inside[2];
  const int n = line.size();
  const auto turned = [line](int step) { return Backwards ? line.end - 1 - step : line.begin + step; };
  if constexpr (Direction == 2) {
    // All threads pass the planes in order, each with its own lines, so no thread waits for a plane's end.
#pragma omp parallel
    for (int step = 0; step < n; ++step) {
      const int k = turned(step);
#pragma omp for schedule(static) nowait
      for (int j = y.begin; j < y.end; ++j) {
        for (int i = x.begin; i < x.end; ++i) work(cube.at(i, j, k), k);
      }
    }
  } else {
#pragma omp parallel for schedule(static)
    for (int k = z.begin; k < z.end; ++k) {
      if constexpr (Direction == 0) {
        for (int j = y.begin; j < y.end; ++j) {
          for (int step = 0; step < n; ++step) work(cube.at(turned(step), j, k), turned(step));
        }
      } else {
        for (int step = 0; step < n; ++step) {
          for (int i = x.begin; i < x.end; ++i) work(cube.at(i, turned(step), k), turned(step));
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
  const cfd::Range line = cube.line(Direction);
  if (line.begin > 0) {
    // Another process has eliminated the two rows before.
    along_lines<Direction, false>(cube, {line.begin - 2, line.begin}, [=](std::ptrdiff_t p, int place) {
      for (int row = line.begin - place; row <= 2; ++row) {
        unknowns.subtract(bands, p, p + row * s, 2 - row, bands(3, p), bands(4, p));
      }
    });
  }
  along_lines<Direction, false>(cube, line, [=](std::ptrdiff_t p, int place) {
    unknowns.eliminate(bands, p, s, std::min(2, line.end - 1 - place));
  });
}

/// Substitutes unknown m, once its lines are eliminated.
template <int Direction>
void backward(const cfd::Cube& cube, const Fields& fields, int number, int m) {
  const std::ptrdiff_t s = cube.stride<Direction>();
  const cfd::Apart bands = matrix(fields, number);
  const cfd::Apart rhs = fields.rhs;
  along_lines<Direction, true>(cube, cube.line(Direction), [=, last = cube.n - 1](std::ptrdiff_t p, int place) {
    if (place == last) return;
    double known = bands(3, p) * rhs(m, p + s);
    if (place < last - 1) known += bands(4, p) * rhs(m, p + 2 * s);
    rhs(m, p) -= known;
  });
}

/// Sets up the matrices of a direction's lines.
template <int Direction>
void set_up_lines(const cfd::Cube& cube, double dt, const Fields& fields) {
  const double* const velocities[] = {fields.derived.us, fields.derived.vs, fields.derived.ws};
  const System system(cube, dt, Direction, velocities[Direction]);
  const std::ptrdiff_t s = cube.stride<Direction>();
  const cfd::Range line = cube.line(Direction);
  // The lines begin in the points of a plane; threads share its rows.
  const cfd::Range outer = cube.inside[Direction == 2 ? 1 : 2];
  const cfd::Range inner = cube.inside[Direction == 0 ? 1 : 0];
#pragma omp parallel for schedule(static)
  for (int a = outer.begin; a < outer.end; ++a) {
    for (int b = inner.begin; b < inner.end; ++b) {
      if constexpr (Direction == 0) set_up_line(system, fields, line, cube.at(line.begin, b, a), s);
      if constexpr (Direction == 1) set_up_line(system, fields, line, cube.at(b, line.begin, a), s);
      if constexpr (Direction == 2) set_up_line(system, fields, line, cube.at(b, a, line.begin), s);
    }
  }
}

}  // namespace

template <int Direction>
void eliminate_lines(const cfd::Cube& cube, double dt, const Fields& fields) {
  set_up_lines<Direction>(cube, dt, fields);
  forward<Direction, 0, 3>(cube, fields, 0);
  forward<Direction, 3, 4>(cube, fields, 1);
  forward<Direction, 4, 5>(cube, fields, 2);
}

template <int Direction>
void substitute_lines(const cfd::Cube& cube, const Fields& fields) {
  for (int m = 0; m < 3; ++m) backward<Direction>(cube, fields, 0, m);
  backward<Direction>(cube, fields, 1, 3);
  backward<Direction>(cube, fields, 2, 4);
}

template void eliminate_lines<1>(const cfd::Cube&, double, const Fields&);
template void eliminate_lines<2>(const cfd::Cube&, double, const Fields&);
template void substitute_lines<1>(const cfd::Cube&, const Fields&);
template void substitute_lines<2>(const cfd::Cube&, const Fields&);

[[gnu::noinline]] void x_solve(const cfd::Cube& cube, double dt, const Fields& fields) {
  eliminate_lines<0>(cube, dt, fields);
  substitute_lines<0>(cube, fields);
}

[[gnu::noinline]] void y_solve(const cfd::Cube& cube, double dt, const Fields& fields) {
  eliminate_lines<1>(cube, dt, fields);
  substitute_lines<1>(cube, fields);
}

[[gnu::noinline]] void z_solve(const cfd::Cube& cube, double dt, const Fields& fields) {
  eliminate_lines<2>(cube, dt, fields);
  substitute_lines<2>(cube, fields);
}

}  // namespace sp
