// Declares eddy's mesh: the periodic square of side 2 pi, cut into elements with curved sides, and for its points
// coordinates, geometry, mass, and how the points that elements share find each other.
//
// A field has a value of its own for each element's points, shared or not: element by element, and within each of
// them by rows, as in Nek5000. The metrics are those of Deville, Fischer and Mund, 2002, section 4.4, and hold the
// mass: derivative_x f = (rx f_r + sx f_s) / mass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "eddy/basis.hpp"

namespace eddy {

using Field = std::vector<double>;

struct Mesh {
  std::int64_t side = 0;  // elements
  Basis basis;

  Field x, y;
  Field rx, ry, sx, sy;
  Field mass;              // of an element's own points
  Field inverse_mass;      // of the points, once those that are shared are summed
  Field share;             // 1 by how many elements have the point
  Field g_rr, g_rs, g_ss;  // the Laplacian's
  // On the finer grid.
  Field fine_rx, fine_ry, fine_sx, fine_sy;

  std::vector<std::uint32_t> number;  // of each point: the same for copies of the same
  // Shared point i has its copies in copies[first_copy[i]] and so on, to first_copy[i + 1].
  std::vector<std::uint32_t> first_copy, copies;

  std::int64_t elements() const { return side * side; }
  std::int64_t points() const { return static_cast<std::int64_t>(basis.points) * basis.points; }  // of an element
  std::int64_t fine_points() const { return static_cast<std::int64_t>(basis.fine) * basis.fine; }
  std::size_t size() const { return static_cast<std::size_t>(elements() * points()); }  // of a field
  std::size_t fine_size() const { return static_cast<std::size_t>(elements() * fine_points()); }
};

Mesh make_mesh(std::int64_t side, Basis basis);

/// Gives every copy of a point the sum of all.
void sum_shared(const Mesh& mesh, Field& field);

/// Gives every copy of a point the mean of all.
void average_shared(const Mesh& mesh, Field& field);

/// The shortest distance between neighbouring points, near enough.
double min_distance(std::int64_t side, const Basis& basis);

}  // namespace eddy
