// Declares the datasets of CloverLeaf in two or three dimensions. Thermodynamic fields are at cells, velocities at
// vertices, fluxes and areas at faces. Vertex i is the low corner of cell i, face i its low face.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <tuple>

#include "workloads/stencils/cloverleaf/deck.hpp"
#include "workloads/stencils/cloverleaf/offsets.hpp"

namespace terrace::stencil::programs::cloverleaf {

using Field = Dataset<double>;

// Halo: two layers below the first cell, three above the last: two, plus the vertices and faces at the end.
inline constexpr std::ptrdiff_t k_below = -2;
inline constexpr std::ptrdiff_t k_above = 3;

// Coordinates of one direction.
template <std::size_t Axis>
struct Coordinates {
  Line<double, Axis> vertex;
  Line<double, Axis> vertex_width;  // distance to the previous vertex
  Line<double, Axis> centre;
  Line<double, Axis> width;

  Coordinates(std::ptrdiff_t cells, double h)
      : vertex(k_below, cells + k_above),
        vertex_width(k_below, cells + k_above),
        centre(k_below, cells + k_above),
        width(k_below, cells + k_above) {
    for (auto i = vertex.begin(); i < vertex.end(); ++i) {
      const auto at = static_cast<double>(i);
      vertex[i] = h * at;
      vertex_width[i] = h;
      centre[i] = 0.5 * (h * at + h * (at + 1));
      width[i] = h;
    }
  }
};

template <std::size_t Dims>
struct Fields {
  Block grid;
  Point count;  // of cells
  Vector h;     // widths of cells

  // Index 0 is the start of the step, 1 its end.
  Field density0, density1, energy0, energy1, pressure, viscosity, sound_speed, volume;
  std::array<Field, Dims> velocity0, velocity1;
  std::array<Field, Dims> flux;  // of volume
  std::array<Field, Dims> mass_flux;
  std::array<Field, Dims> area;
  // Work arrays are used as in the published code; each loop states their contents. As in the hand-written
  // code, the volume ratio and the step over the mass are local to the kernels.
  Field work1, work2, work3, work4, work5, work6, work7;

  std::tuple<Coordinates<0>, Coordinates<1>, Coordinates<2>> coordinates;

  Fields(Context& context, const Deck& deck)
      : grid(context.block("grid", {deck.cells.begin(), deck.cells.begin() + Dims})),
        count(deck.cells),
        h(widths(deck)),
        coordinates(Coordinates<0>(count[0], h[0]), Coordinates<1>(count[1], h[1]),
                    Coordinates<2>(count[2], h[2])) {
    // A chain is a step, between two computations of the time step: what a chain writes first is temporary.
    density0 = make("density0"), density1 = make("density1", true);
    energy0 = make("energy0"), energy1 = make("energy1", true);
    pressure = make("pressure"), viscosity = make("viscosity"), sound_speed = make("sound speed", true);
    volume = make("volume");
    for (std::size_t d = 0; d < Dims; ++d) {
      velocity0[d] = make(with_axis("velocity0", d)), velocity1[d] = make(with_axis("velocity1", d), true);
      flux[d] = make(with_axis("flux", d), true, not_renewed(d)),
      mass_flux[d] = make(with_axis("mass flux", d), true, not_renewed(d)), area[d] = make(with_axis("area", d));
    }
    work1 = make("work1", true), work2 = make("work2", true), work3 = make("work3", true);
    work4 = make("work4", true), work5 = make("work5", true), work6 = make("work6", true);
    work7 = make("work7", true);
  }

  // Whether mirrors reflect cells only. The third face is mirrored, too: with two cells it is itself a halo
  // face, so results depend on the halo's earlier contents.
  [[nodiscard]] bool is_wide() const { return *std::min_element(count.begin(), count.begin() + Dims) > 2; }

  template <std::size_t Axis>
  [[nodiscard]] const Coordinates<Axis>& axis() const {
    return std::get<Axis>(coordinates);
  }

  // Returns the range from `begin` to `beyond` points after the last cell in each direction.
  [[nodiscard]] Range range(std::ptrdiff_t begin, std::ptrdiff_t beyond) const {
    Range range;
    for (std::size_t d = 0; d < Dims; ++d) {
      range.begin[d] = begin;
      range.end[d] = count[d] + beyond;
    }
    return range;
  }
  [[nodiscard]] Range cells() const { return range(0, 0); }
  [[nodiscard]] Range cells_and_halo() const { return range(-2, 2); }
  [[nodiscard]] Range vertices() const { return range(0, 1); }
  // Returns the range along one direction, and from 0 to `across` after the last cell in the others.
  [[nodiscard]] Range range_along(std::size_t axis, std::ptrdiff_t begin, std::ptrdiff_t beyond,
                                  std::ptrdiff_t across) const {
    Range all = range(0, across);
    all.begin[axis] = begin;
    all.end[axis] = count[axis] + beyond;
    return all;
  }

 private:
  [[nodiscard]] static Vector widths(const Deck& deck) {
    Vector h{1, 1, 1};
    for (std::size_t d = 0; d < Dims; ++d) h[d] = deck.box[d] / static_cast<double>(deck.cells[d]);
    return h;
  }
  // Faces of a direction that a step reads before writing them: in three dimensions those in the z halo layers
  // of which the z mirrors omit the last (takes_old() in halo.hpp).
  [[nodiscard]] std::vector<terrace::stencil::Range> not_renewed(std::size_t d) const {
    if (Dims == 2 || d == 2) return {};
    auto below = range(k_below, k_above), above = below;
    below.end[2] = 0;
    above.begin[2] = count[2];
    return {below, above};
  }
  [[nodiscard]] Field make(const std::string& name, bool is_temporary = false,
                           const std::vector<terrace::stencil::Range>& kept = {}) const {
    Halo halo;
    for (std::size_t d = 0; d < Dims; ++d) {
      halo.low[d] = k_below;
      halo.high[d] = k_above;
    }
    return is_temporary && is_wide() ? grid.temporary<double>(name, halo, kept) : grid.dataset<double>(name, halo);
  }
};

}  // namespace terrace::stencil::programs::cloverleaf
