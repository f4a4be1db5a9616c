// Declares the mesh of the workload hydro: zones of four points, held as lists of numbers (unstructured).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace hydro {

struct Vector {
  double x = 0.0;
  double y = 0.0;
};

inline Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y}; }
inline Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y}; }
inline Vector operator*(double s, Vector a) { return {s * a.x, s * a.y}; }
inline double dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y; }

/// Boundary condition of a point: it lies on a wall across the x or the y axis, or in a corner.
enum Wall : std::uint8_t { k_free = 0, k_wall_x = 1, k_wall_y = 2 };

/// Corner 4 z + c is where zone z meets its point c. If several processes divide the mesh, these are followed by
/// the corners that their zones have in the points of this process: of the strip before, then of that after.
struct Mesh {
  std::vector<std::array<std::uint32_t, 4>> zone_points;  // anticlockwise
  std::vector<std::uint32_t> first_corner;  // point p has corners [first_corner[p], first_corner[p+1])
  std::vector<std::uint32_t> point_corners;
  std::vector<std::uint8_t> walls;

  std::uint64_t zones() const { return zone_points.size(); }
  std::uint64_t points() const { return walls.size(); }
  std::uint64_t corners() const { return point_corners.size(); }
};

/// A half-open interval of rows of zones.
struct Rows {
  std::uint64_t begin;
  std::uint64_t end;
};

/// Makes the rows of the unit square, cut into side x side zones, between four walls.
///
/// Neighbours' corners are ordered from left to right: of the strip before, those at the upper side of its zones,
/// of the strip after, those at the lower side.
Mesh make_strip(std::uint64_t side, Rows rows);

/// Returns where its points are at first.
std::vector<Vector> strip_positions(std::uint64_t side, Rows rows);

}  // namespace hydro
