// Declares the loops of CloverLeaf without a direction: initial state, equation of state, begin and end of a step,
// sums over all cells.
#pragma once

#include <cmath>
#include <cstddef>

#include "workloads/stencils/cloverleaf/fields.hpp"

namespace terrace::stencil::programs::cloverleaf {

inline constexpr double k_gamma_less_1 = 1.4 - 1.0;

// Sets volumes, areas and the two states. A box covers each cell that it overlaps by more than a hundredth of a
// cell.
template <std::size_t Dims>
void set_initial_state(const Fields<Dims>& f, const Vector& dense) {
  const double volume = Dims == 2 ? f.h[0] * f.h[1] : f.h[0] * f.h[1] * f.h[2];
  f.grid.loop(
      "volumes", f.volume.range(), [volume] TERRACE_STENCIL_KERNEL(auto v) { v() = volume; }, write(f.volume));
  for (std::size_t d = 0; d < Dims; ++d) {
    // Multiplies in the order x, y, z.
    double area = 1;
    for (std::size_t b = 0; b < Dims; ++b) area *= b == d ? 1.0 : f.h[b];
    f.grid.loop(
        "areas", f.area[d].range(), [area] TERRACE_STENCIL_KERNEL(auto a) { a() = area; }, write(f.area[d]));
  }
  // A missing direction of the grid is 0 to 1.
  Vector low{0, 0, 0}, high{1, 1, 1};
  for (std::size_t d = 0; d < Dims; ++d) {
    low[d] = f.h[d] / 100.0;
    high[d] = dense[d] - f.h[d] / 100.0;
  }
  f.grid.loop(
      "initial state", f.cells_and_halo(),
      [low, high] TERRACE_STENCIL_KERNEL(auto density, auto energy, auto... vertex) {
        std::size_t d = 0;
        bool is_in = true;
        ((is_in = is_in && vertex(1) >= low[d] && vertex() < high[d], ++d), ...);
        density() = is_in ? k_dense.density : k_background.density;
        energy() = is_in ? k_dense.energy : k_background.energy;
      },
      write(f.density0), write(f.energy0), read(f.template axis<0>().vertex), read(f.template axis<1>().vertex),
      read(f.template axis<2>().vertex));
}

template <std::size_t Dims>
void equation_of_state(const Fields<Dims>& f, const Field& density, const Field& energy) {
  f.grid.loop(
      "equation of state", f.cells(),
      [] TERRACE_STENCIL_KERNEL(auto p, auto c, auto rho, auto e) {
        const double by_energy = k_gamma_less_1 * rho();
        const double pressure = by_energy * e();
        const double v = 1.0 / rho();
        p() = pressure;
        c() = std::sqrt(v * v * (pressure * by_energy + rho() * pressure));
      },
      write(f.pressure), write(f.sound_speed), read(density), read(energy));
}

template <std::size_t Dims>
void copy_cells(const Fields<Dims>& f, const char* name, const Field& density_to, const Field& energy_to,
                const Field& density, const Field& energy) {
  f.grid.loop(
      name, f.cells(),
      [] TERRACE_STENCIL_KERNEL(auto to_rho, auto to_e, auto rho, auto e) {
        to_rho() = rho();
        to_e() = e();
      },
      write(density_to), write(energy_to), read(density), read(energy));
}

// Resets to the start of the step, after its first half.
template <std::size_t Dims>
void revert(const Fields<Dims>& f) {
  copy_cells(f, "revert", f.density1, f.energy1, f.density0, f.energy0);
}

// Makes the step's end the start of the next one.
template <std::size_t Dims>
void reset(const Fields<Dims>& f) {
  copy_cells(f, "reset of cells", f.density0, f.energy0, f.density1, f.energy1);
  if constexpr (Dims == 2)
    f.grid.loop(
        "reset of vertices", f.vertices(),
        [] TERRACE_STENCIL_KERNEL(auto u0, auto v0, auto u1, auto v1) {
          u0() = u1();
          v0() = v1();
        },
        write(f.velocity0[0]), write(f.velocity0[1]), read(f.velocity1[0]), read(f.velocity1[1]));
  else
    f.grid.loop(
        "reset of vertices", f.vertices(),
        [] TERRACE_STENCIL_KERNEL(auto u0, auto v0, auto w0, auto u1, auto v1, auto w1) {
          u0() = u1();
          v0() = v1();
          w0() = w1();
        },
        write(f.velocity0[0]), write(f.velocity0[1]), write(f.velocity0[2]), read(f.velocity1[0]),
        read(f.velocity1[1]), read(f.velocity1[2]));
}

// Computes the sums over all cells at the start of a step.
struct Summary {
  double volume = 0;
  double mass = 0;
  double internal = 0;  // energy
  double kinetic = 0;
  double pressure = 0;  // times volume
};

template <std::size_t Dims>
class Summing {
 public:
  explicit Summing(Context& context)
      : volume_(context.sum<double>()),
        mass_(context.sum<double>()),
        internal_(context.sum<double>()),
        kinetic_(context.sum<double>()),
        pressure_(context.sum<double>()) {}

  // Runs two loops, which end the chain.
  [[nodiscard]] Summary operator()(const Fields<Dims>& f) const {
    equation_of_state(f, f.density0, f.energy0);
    const auto sums = [] TERRACE_STENCIL_KERNEL(auto volumes, auto masses, auto internals, auto kinetics,
                                                auto pressures, auto volume, auto rho, auto e, auto p, auto... w) {
      const auto square = [&](std::ptrdiff_t x, std::ptrdiff_t y, std::ptrdiff_t z) {
        return ((w(x, y, z) * w(x, y, z)) + ...);
      };
      double squares = 0;
      for (std::ptrdiff_t z = 0; z < (Dims == 3 ? 2 : 1); ++z)
        for (std::ptrdiff_t y = 0; y < 2; ++y)
          for (std::ptrdiff_t x = 0; x < 2; ++x) squares += (Dims == 2 ? 0.25 : 0.125) * square(x, y, z);
      const double mass = volume() * rho();
      volumes += volume();
      masses += mass;
      internals += mass * e();
      kinetics += mass * 0.5 * squares;
      pressures += volume() * p();
    };
    const auto loop = [&](auto... velocities) {
      f.grid.loop("field summary", f.cells(), sums, into(volume_), into(mass_), into(internal_), into(kinetic_),
                  into(pressure_), read(f.volume), read(f.density0), read(f.energy0), read(f.pressure),
                  velocities...);
    };
    if constexpr (Dims == 2)
      loop(read(f.velocity0[0], corners(2)), read(f.velocity0[1], corners(2)));
    else
      loop(read(f.velocity0[0], corners(3)), read(f.velocity0[1], corners(3)), read(f.velocity0[2], corners(3)));
    return {volume_.value(), mass_.value(), internal_.value(), kinetic_.value(), pressure_.value()};
  }

 private:
  Sum<double> volume_, mass_, internal_, kinetic_, pressure_;
};

}  // namespace terrace::stencil::programs::cloverleaf
