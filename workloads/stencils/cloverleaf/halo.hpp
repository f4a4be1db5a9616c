// Updates the halos of CloverLeaf's fields: all walls are mirrors; each halo layer is a loop of its own.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "workloads/stencils/cloverleaf/fields.hpp"

namespace terrace::stencil::programs::cloverleaf {

// The fields that a call updates, in the groups that share loops.
template <std::size_t Dims>
struct Exchange {
  std::vector<Field> cells{};
  std::array<std::vector<Field>, Dims> velocities{};
  std::array<std::vector<Field>, Dims> fluxes{};  // of volume and of mass, by direction
};

namespace detail {

// A group: all fields of cells, before the first step.
inline constexpr std::size_t k_max_fields = 6;

enum class Place { cell, vertex, face };

// A group: the location of its fields, and the component of the velocity or the direction of the faces.
struct Group {
  Place place = Place::cell;
  std::size_t axis = 0;
  std::string name;

  [[nodiscard]] bool is_like_cells(std::size_t d) const {
    return place == Place::cell || (place == Place::face && d != axis);
  }
  // Fields that change sign at the wall.
  [[nodiscard]] double sign(std::size_t d) const { return place != Place::cell && d == axis ? -1.0 : 1.0; }
};

template <std::size_t... I>
void mirror(const Block& grid, std::string name, const Range& layer, const Point& from, double sign,
            const std::vector<Field>& fields, std::index_sequence<I...> /*all*/) {
  grid.loop(
      std::move(name), layer,
      [from, sign] TERRACE_STENCIL_KERNEL(auto... f) { ((f() = sign * f(from[0], from[1], from[2])), ...); },
      read_write(fields[I], Stencil(std::vector<Point>{from}))...);
}

// Runs a loop over one layer that sets each field to its value at the offset, times the sign.
template <std::size_t Count = 0>
void mirror(const Block& grid, std::string name, const Range& layer, const Point& from, double sign,
            const std::vector<Field>& fields) {
  if (fields.size() == Count)
    mirror(grid, std::move(name), layer, from, sign, fields, std::make_index_sequence<Count>{});
  else if constexpr (Count < k_max_fields)
    mirror<Count + 1>(grid, std::move(name), layer, from, sign, fields);
}

// Order of directions, as published: y, x, z.
inline constexpr std::array<std::size_t, 3> k_turn{1, 0, 2};

// Whether layers keep, as in the published code, values of a later direction's layers from the previous call.
// On narrow meshes results depend on that; and in z for the faces of which that direction omits the last. The
// later direction overwrites all others.
template <std::size_t Dims>
[[nodiscard]] bool takes_old(const Fields<Dims>& f, const Group& group, std::size_t direction) {
  return !f.is_wide() || (direction == 2 && group.place == Place::face && group.axis != 2);
}

// Returns layer `n` of a group's halo on one side. Layers of earlier directions, up to `depth`, are part of it.
// Those of later directions are not where nothing depends on them: they are overwritten, and a chain would
// needlessly require their earlier values.
template <std::size_t Dims>
[[nodiscard]] Range layer(const Fields<Dims>& f, const Group& group, std::size_t side, bool is_high,
                          std::ptrdiff_t n, std::ptrdiff_t depth) {
  Range range;
  for (std::size_t d = 0; d < Dims; ++d) {
    auto end = f.count[d] + (group.is_like_cells(d) ? 0 : 1);
    if (d == side) {
      range.begin[d] = is_high ? end - 1 + n : -n;
      range.end[d] = range.begin[d] + 1;
    } else {
      const auto halo = k_turn[d] < k_turn[side] || takes_old(f, group, d) ? depth : 0;
      if (side == 2 && group.place == Place::face && d == group.axis) --end;
      range.begin[d] = -halo;
      range.end[d] = end + halo;
    }
  }
  return range;
}

template <std::size_t Dims>
void update_group(const Fields<Dims>& f, const Group& group, const std::vector<Field>& fields,
                  std::ptrdiff_t depth) {
  for (const auto side : {1U, 0U, 2U}) {
    if (side >= Dims) continue;
    for (const auto is_high : {false, true}) {
      for (auto n = depth; n > 0; --n) {
        // Cells are mirrored at the wall. Other locations are mirrored at their first and last one; for faces
        // of other directions that is a cell's centre, as published.
        const auto distance = group.place == Place::cell ? 2 * n - 1 : 2 * n;
        Point from{0, 0, 0};
        from[side] = is_high ? -distance : distance;
        mirror(f.grid,
               "halo " + group.name + ", " + "xyz"[side] + (is_high ? " high " : " low ") + std::to_string(n),
               layer(f, group, side, is_high, n, depth), from, group.sign(side), fields);
      }
    }
  }
}

}  // namespace detail

// Updates `depth` layers of the halo. In three dimensions, groups without a field have loops, too, as
// published: these access nothing.
template <std::size_t Dims>
void update_halo(const Fields<Dims>& f, const Exchange<Dims>& exchange, std::ptrdiff_t depth) {
  const auto update = [&](detail::Place place, std::size_t axis, std::string name,
                          const std::vector<Field>& fields) {
    if (Dims == 2 && fields.empty()) return;
    detail::update_group(f, {place, axis, std::move(name)}, fields, depth);
  };
  update(detail::Place::cell, 0, "cells", exchange.cells);
  for (std::size_t d = 0; d < Dims; ++d)
    update(detail::Place::vertex, d, with_axis("velocity", d), exchange.velocities[d]);
  for (std::size_t d = 0; d < Dims; ++d)
    update(detail::Place::face, d, with_axis("fluxes", d), exchange.fluxes[d]);
}

}  // namespace terrace::stencil::programs::cloverleaf
