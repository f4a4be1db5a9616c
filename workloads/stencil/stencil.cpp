// A 3D stencil of 7 points, swept with two grids: weighted Jacobi for Laplace's equation on the unit cube with
// zero boundary, u' = (u + its 6 neighbours) / 7. Source: the method is Jacobi's; weight 6/7 is the one that
// damps best in three dimensions (Trottenberg, Oosterlee and Schueller, "Multigrid", 2001, section 2.9.2).
//
// The grid begins as sin(p pi x) sin(q pi y) sin(r pi z), an eigenfunction of the sweep, so that each sweep
// multiplies it by (1 + 2 cos(p pi h) + 2 cos(q pi h) + 2 cos(r pi h)) / 7: the closed form it is verified
// against.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <vector>

#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/options.hpp"
#include "common/threads.hpp"
#include "common/verdict.hpp"

namespace stencil {

// Different along each axis, so that a mixed-up index shows.
constexpr int k_p = 1;
constexpr int k_q = 2;
constexpr int k_r = 3;

struct Settings {
  std::uint64_t side = 128;
  std::uint64_t iterations = 10;
  std::uint64_t threads = 1;
};

/// A cube of side x side x side inner points in a shell of zeros.
struct Grid {
  explicit Grid(std::uint64_t side) : line(side + 2), points(line * line * line) {}

  std::uint64_t at(std::uint64_t k, std::uint64_t j, std::uint64_t i) const { return (k * line + j) * line + i; }

  std::uint64_t line;
  std::vector<double> points;
};

/// Never inlined, so that it keeps its name at run time.
[[gnu::noinline]] void sweep(const Grid& from, Grid& to) {
  const std::uint64_t last = from.line - 1;
  const double* const u = from.points.data();
  double* const result = to.points.data();
  const std::uint64_t line = from.line;
  const std::uint64_t plane = line * line;
#pragma omp parallel for schedule(static)
  for (std::uint64_t k = 1; k < last; ++k) {
    for (std::uint64_t j = 1; j < last; ++j) {
      const std::uint64_t begin = k * plane + j * line;
      for (std::uint64_t n = begin + 1; n < begin + last; ++n) {
        result[n] =
            (u[n] + u[n - 1] + u[n + 1] + u[n - line] + u[n + line] + u[n - plane] + u[n + plane]) * (1.0 / 7.0);
      }
    }
  }
}

/// sin(mode pi x) at the points of a line.
std::vector<double> wave(std::uint64_t line, int mode) {
  std::vector<double> values(line);
  for (std::uint64_t i = 0; i < line; ++i) {
    values[i] = std::sin(mode * std::numbers::pi * static_cast<double>(i) / static_cast<double>(line - 1));
  }
  return values;
}

/// Calls `action(index, eigenfunction)` for each point, whose values are multiples of the eigenfunction.
template <typename Action>
void for_each_point(const Grid& grid, const Action& action) {
  const std::vector<double> x = wave(grid.line, k_p);
  const std::vector<double> y = wave(grid.line, k_q);
  const std::vector<double> z = wave(grid.line, k_r);
  for (std::uint64_t k = 1; k + 1 < grid.line; ++k) {
    for (std::uint64_t j = 1; j + 1 < grid.line; ++j) {
      for (std::uint64_t i = 1; i + 1 < grid.line; ++i) action(grid.at(k, j, i), x[i] * y[j] * z[k]);
    }
  }
}

double factor_of(std::uint64_t line) {
  const double angle = std::numbers::pi / static_cast<double>(line - 1);
  return (1.0 + 2.0 * (std::cos(k_p * angle) + std::cos(k_q * angle) + std::cos(k_r * angle))) / 7.0;
}

int run(const Settings& settings) {
  Grid u(settings.side);
  Grid v(settings.side);
  for_each_point(u, [&](std::uint64_t n, double eigenfunction) { u.points[n] = eigenfunction; });

  const double begin = workloads::seconds();
  workloads::loop_begin("main");
  for (std::uint64_t iteration = 0; iteration < settings.iterations; ++iteration) {
    workloads::phase("forth");
    sweep(u, v);
    workloads::phase("back");
    sweep(v, u);
  }
  workloads::loop_end();
  const double end = workloads::seconds();

  const double sweeps = 2.0 * static_cast<double>(settings.iterations);
  const double scale = std::pow(factor_of(u.line), sweeps);
  double error = 0.0;
  for_each_point(u, [&](std::uint64_t n, double eigenfunction) {
    const double difference = std::abs(u.points[n] - scale * eigenfunction) / std::abs(scale);
    error = workloads::worse(error, difference);
  });
  // A few roundings a sweep, and what rounding stirs up in other modes hardly decays.
  const double tolerance = 1e-14 * (10.0 + sweeps) / std::abs(scale);
  const bool verified = error <= tolerance;

  const auto side = static_cast<double>(settings.side);
  std::printf("Stencil: 2 grids of %zu bytes, %.0f sweeps\n", u.points.size() * sizeof(double), sweeps);
  std::printf("Time %14.9f s %14.0f points a second\n", end - begin, side * side * side * sweeps / (end - begin));
  std::printf("Largest error %.3e, tolerance %.3e, of an amplitude of %.6f\n", error, tolerance, scale);
  return workloads::verdict(verified);
}

}  // namespace stencil

int main(int argc, char** argv) {
  stencil::Settings settings;
  workloads::Options options("stencil", "weighted Jacobi sweeps with a 3D 7-point stencil and two grids");
  options.count("--side", &settings.side, "inner points along each axis, 3 to 4096");
  options.count("--iterations", &settings.iterations, "number of iterations of two sweeps each (forth and back)");
  workloads::declare_threads(options, &settings.threads);
  options.parse(argc, argv);
  workloads::use_threads(options, settings.threads);
  if (settings.side < 3 || settings.side > 4096) options.fail("--side: from 3 to 4096");
  return stencil::run(settings);
}
