// Declares the loops of CloverLeaf's advection: fluxes through the faces of one direction at a time, first mass
// and energy of the cells, then momentum of the vertices. B. van Leer's limiter bounds the slopes. A number in
// brackets is the work array that holds a quantity.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>

#include "workloads/stencils/cloverleaf/fields.hpp"

namespace terrace::stencil::programs::cloverleaf {

namespace detail {

// Returns `start` plus what leaves through the faces of the directions, added in order.
template <std::size_t... Axis>
[[nodiscard]] TERRACE_STENCIL_BOTH double swept(double start, Directions<Axis...> /*order*/, const auto&... flux) {
  ((start = start + along<Axis>(flux, 1) - flux()), ...);
  return start;
}

}  // namespace detail

// Computes the cells' volumes before (1) and after (2) the sweep along Axis. `order` has the direction and the
// remaining ones. In the first sweep the fluxes are summed before the volume is added.
template <std::size_t Axis, bool Is_first, std::size_t Dims, std::size_t... Order>
void cell_volumes(const Fields<Dims>& f, Directions<Order...> order) {
  f.grid.loop(
      with_axis("cell volumes", Axis), f.cells_and_halo(),
      [order] TERRACE_STENCIL_KERNEL(auto pre, auto post, auto volume, auto... flux) {
        const double total =
            Is_first ? volume() + detail::swept(0.0, order, flux...) : detail::swept(volume(), order, flux...);
        double own = 0;
        ((own = Order == Axis ? along<Order>(flux, 1) - flux() : own), ...);
        pre() = total;
        post() = sizeof...(Order) == 1 ? volume() : total - own;
      },
      write(f.work1), write(f.work2), read(f.volume), read(f.flux[Order], line(Order, 0, 1))...);
}

// Returns the limited slope of a cell's value towards the face; k is the fraction of the cell that leaves.
[[nodiscard]] TERRACE_STENCIL_BOTH inline double limited(double upwind, double donor, double downwind, double k,
                                                         double s3, double s4) {
  constexpr double k_sixth = 1.0 / 6.0;
  const double a = donor - upwind;
  const double b = downwind - donor;
  const double slope = (1.0 - k) * std::copysign(1.0, b) *
                       least(least(std::abs(a), std::abs(b)), k_sixth * (s3 * std::abs(a) + s4 * std::abs(b)));
  return a * b > 0.0 ? slope : 0.0;
}

// Computes the fluxes of mass and of energy (7). The published code goes one face further, which the halo
// update overwrites before it is read.
template <std::size_t Axis, std::size_t Dims>
void cell_flux(const Fields<Dims>& f) {
  auto range = f.range_along(Axis, 0, 1, 0);
  if (Dims == 3 && Axis == 1) range.end[2] += 2;  // as published
  f.grid.loop(
      with_axis("cell flux", Axis), range,
      [] TERRACE_STENCIL_KERNEL(auto mass_flux, auto energy_flux, auto flux, auto pre, auto density, auto energy,
                                auto width) {
        const BySign choose(flux());
        const auto upwind = [&](const auto& q) { return choose(along<Axis>(q, -2), along<Axis>(q, 1)); };
        const auto donor = [&](const auto& q) { return choose(along<Axis>(q, -1), q()); };
        const auto downwind = [&](const auto& q) { return choose(q(), along<Axis>(q, -1)); };
        const double from = donor(pre);
        const double part = std::abs(flux()) / from;
        // Divide first: in the other order 2955 steps in two dimensions end 6e-6 from the published energy.
        const double s3 = (1.0 + part) * (width() / choose(width(-1), width(1)));
        const double s4 = 2.0 - part;
        const double rho = donor(density);
        const double mass = flux() * (rho + limited(upwind(density), rho, downwind(density), part, s3, s4));
        const double part_of_mass = std::abs(mass) / (rho * from);
        const double e = donor(energy);
        mass_flux() = mass;
        energy_flux() = mass * (e + limited(upwind(energy), e, downwind(energy), part_of_mass, s3, s4));
      },
      write(f.mass_flux[Axis]), write(f.work7), read(f.flux[Axis]), read(f.work1, line(Axis, -1, 0)),
      read(f.density1, line(Axis, -2, 1)), read(f.energy1, line(Axis, -2, 1)),
      read(f.template axis<Axis>().vertex_width));
}

// Updates a cell by its fluxes.
struct Swept {
  double mass, new_mass, new_energy, new_volume;
};
template <std::size_t Axis>
[[nodiscard]] TERRACE_STENCIL_BOTH Swept swept_cell(double density, double energy, double pre, const auto& flux,
                                                    const auto& mass_flux, const auto& energy_flux) {
  const double mass = density * pre;
  const double new_mass = mass + mass_flux() - along<Axis>(mass_flux, 1);
  return {mass, new_mass, (energy * mass + energy_flux() - along<Axis>(energy_flux, 1)) / new_mass,
          pre + flux() - along<Axis>(flux, 1)};
}

// Three dimensions also store masses before (3) and after (4), volume (5) and energy (6), as published; nothing
// reads them.
template <std::size_t Axis, std::size_t Dims>
void cell_update(const Fields<Dims>& f) {
  const auto update = [] TERRACE_STENCIL_KERNEL(auto density, auto energy, auto pre, auto flux, auto mass_flux,
                                                auto energy_flux, auto... kept) {
    const Swept now = swept_cell<Axis>(density(), energy(), pre(), flux, mass_flux, energy_flux);
    energy() = now.new_energy;
    density() = now.new_mass / now.new_volume;
    if constexpr (sizeof...(kept) == 4) {
      const auto keep = [&](auto mass, auto new_mass, auto new_volume, auto new_energy) {
        mass() = now.mass;
        new_mass() = now.new_mass;
        new_volume() = now.new_volume;
        new_energy() = now.new_energy;
      };
      keep(kept...);
    }
  };
  const auto loop = [&](auto... kept) {
    f.grid.loop(with_axis("cell update", Axis), f.cells(), update, read_write(f.density1), read_write(f.energy1),
                read(f.work1), read(f.flux[Axis], line(Axis, 0, 1)), read(f.mass_flux[Axis], line(Axis, 0, 1)),
                read(f.work7, line(Axis, 0, 1)), kept...);
  };
  if constexpr (Dims == 2)
    loop();
  else
    loop(write(f.work3), write(f.work4), write(f.work5), write(f.work6));
}

// Computes volumes before (6) and after (7) the momentum sweep: `others` are the remaining directions. The
// volume before, which nothing reads, includes the flux along Before.
template <std::size_t Before, std::size_t Dims, std::size_t... Others>
void momentum_volumes(const Fields<Dims>& f, Directions<Others...> others) {
  f.grid.loop(
      "momentum volumes", f.cells_and_halo(),
      [others] TERRACE_STENCIL_KERNEL(auto pre, auto post, auto volume, auto flux, auto... other) {
        const double after = detail::swept(volume(), others, other...);
        post() = after;
        pre() = after + along<Before>(flux, 1) - flux();
      },
      write(f.work6), write(f.work7), read(f.volume), read(f.flux[Before], line(Before, 0, 1)),
      read(f.flux[Others], line(Others, 0, 1))...);
}

// Computes the mass flux through the face between two vertices (1).
template <std::size_t Axis, std::size_t Dims>
void node_flux(const Fields<Dims>& f) {
  f.grid.loop(
      with_axis("node flux", Axis), f.range_along(Axis, -2, 2, 1),
      [] TERRACE_STENCIL_KERNEL(auto node_flux, auto m) {
        const auto at = [&](std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t k) {
          return turned<Axis>(m, i, j, k);
        };
        double sum = at(0, -1, 0) + at(0, 0, 0) + at(1, -1, 0) + at(1, 0, 0);
        if constexpr (Dims == 3) sum = sum + at(0, -1, -1) + at(0, 0, -1) + at(1, -1, -1) + at(1, 0, -1);
        node_flux() = (Dims == 2 ? 0.25 : 0.125) * sum;
      },
      write(f.work1), read(f.mass_flux[Axis], slab(Dims, Axis, 0, 1, -1, 0)));
}

// Computes the mass of a vertex after (2) and before (3) the sweep.
template <std::size_t Axis, std::size_t Dims>
void node_mass(const Fields<Dims>& f) {
  f.grid.loop(
      with_axis("node mass", Axis), f.range_along(Axis, -1, 2, 1),
      [] TERRACE_STENCIL_KERNEL(auto post, auto pre, auto rho, auto volume, auto node_flux) {
        const auto at = [&](std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t k) {
          return rho(i, j, k) * volume(i, j, k);
        };
        double sum = at(0, -1, 0) + at(0, 0, 0) + at(-1, -1, 0) + at(-1, 0, 0);
        if constexpr (Dims == 3) sum = sum + at(0, -1, -1) + at(0, 0, -1) + at(-1, -1, -1) + at(-1, 0, -1);
        const double mass = (Dims == 2 ? 0.25 : 0.125) * sum;
        post() = mass;
        pre() = mass - along<Axis>(node_flux, -1) + node_flux();
      },
      write(f.work2), write(f.work3), read(f.density1, cells_around(Dims)), read(f.work7, cells_around(Dims)),
      read(f.work1, line(Axis, -1, 0)));
}

// Computes the flux of a momentum component (5).
template <std::size_t Axis, std::size_t Dims>
void momentum_flux(const Fields<Dims>& f, const Field& velocity) {
  f.grid.loop(
      with_axis("momentum flux", Axis), f.range_along(Axis, -1, 1, 1),
      [] TERRACE_STENCIL_KERNEL(auto momentum_flux, auto node_flux, auto node_mass, auto w, auto width) {
        const double flow = node_flux();
        const BySign choose(flow);
        const double upwind = choose(along<Axis>(w, -1), along<Axis>(w, 2));
        const double donor = choose(w(), along<Axis>(w, 1));
        const double downwind = choose(along<Axis>(w, 1), w());
        const double part = std::abs(flow) / choose(node_mass(), along<Axis>(node_mass, 1));
        const double h = width();
        const double a = donor - upwind;
        const double b = downwind - donor;
        const double slope =
            h * ((2.0 - part) * std::abs(b) / h + (1.0 + part) * std::abs(a) / choose(width(-1), width(1))) / 6.0;
        const double bounded = std::copysign(1.0, b) * least(least(slope, std::abs(a)), std::abs(b));
        const double limited = a * b > 0.0 ? bounded : 0.0;
        momentum_flux() = flow * (donor + (1.0 - part) * limited);
      },
      write(f.work5), read(f.work1), read(f.work3, line(Axis, 0, 1)), read(velocity, line(Axis, -1, 2)),
      read(f.template axis<Axis>().width));
}

template <std::size_t Axis, std::size_t Dims>
void velocity_update(const Fields<Dims>& f, const Field& velocity) {
  f.grid.loop(
      with_axis("velocity update", Axis), f.vertices(),
      [] TERRACE_STENCIL_KERNEL(auto w, auto post, auto pre, auto momentum_flux) {
        w() = (w() * pre() + along<Axis>(momentum_flux, -1) - momentum_flux()) / post();
      },
      read_write(velocity), read(f.work2), read(f.work3), read(f.work5, line(Axis, -1, 0)));
}

}  // namespace terrace::stencil::programs::cloverleaf
