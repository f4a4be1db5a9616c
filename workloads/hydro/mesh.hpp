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

/// Corner 4 z + c is where zone z meets its point c.
struct Mesh {
  std::vector<std::array<std::uint32_t, 4>> zone_points;  // anticlockwise
  std::vector<std::uint32_t> first_corner;  // point p has corners [first_corner[p], first_corner[p+1])
  std::vector<std::uint32_t> point_corners;
  std::vector<std::uint8_t> walls;

  std::uint64_t zones() const { return zone_points.size(); }
  std::uint64_t points() const { return walls.size(); }
};

/// The unit square, cut into side x side zones, between four walls.
Mesh make_square(std::uint64_t side);

/// Where its points are at first.
std::vector<Vector> square_positions(std::uint64_t side);

}  // namespace hydro
