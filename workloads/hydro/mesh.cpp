// Makes hydro's mesh of a square, and the lists that lead from points back to zones.
#include "hydro/mesh.hpp"

namespace hydro {
namespace {

void connect_points(Mesh& mesh) {
  mesh.first_corner.assign(mesh.points() + 1, 0);
  for (const auto& points : mesh.zone_points) {
    for (const std::uint32_t point : points) ++mesh.first_corner[point + 1];
  }
  for (std::uint64_t point = 0; point < mesh.points(); ++point) {
    mesh.first_corner[point + 1] += mesh.first_corner[point];
  }
  std::vector<std::uint32_t> next(mesh.first_corner.begin(), mesh.first_corner.end() - 1);
  mesh.point_corners.resize(4 * mesh.zones());
  for (std::uint32_t corner = 0; corner < mesh.point_corners.size(); ++corner) {
    mesh.point_corners[next[mesh.zone_points[corner / 4][corner % 4]]++] = corner;
  }
}

}  // namespace

Mesh make_square(std::uint64_t side) {
  Mesh mesh;
  const auto line = static_cast<std::uint32_t>(side + 1);
  mesh.zone_points.reserve(side * side);
  for (std::uint32_t j = 0; j < side; ++j) {
    for (std::uint32_t i = 0; i < side; ++i) {
      const std::uint32_t point = j * line + i;
      mesh.zone_points.push_back({point, point + 1, point + line + 1, point + line});
    }
  }
  mesh.walls.reserve(std::uint64_t{line} * line);
  for (std::uint32_t j = 0; j < line; ++j) {
    for (std::uint32_t i = 0; i < line; ++i) {
      const int across_x = i == 0 || i == side ? k_wall_x : k_free;
      const int across_y = j == 0 || j == side ? k_wall_y : k_free;
      mesh.walls.push_back(static_cast<std::uint8_t>(across_x | across_y));
    }
  }
  connect_points(mesh);
  return mesh;
}

std::vector<Vector> square_positions(std::uint64_t side) {
  const double width = 1.0 / static_cast<double>(side);
  std::vector<Vector> positions;
  positions.reserve((side + 1) * (side + 1));
  for (std::uint64_t j = 0; j <= side; ++j) {
    for (std::uint64_t i = 0; i <= side; ++i) {
      positions.push_back({static_cast<double>(i) * width, static_cast<double>(j) * width});
    }
  }
  return positions;
}

}  // namespace hydro
