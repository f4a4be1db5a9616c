// Makes hydro's mesh of a square or of a strip of it, and the lists that lead from points back to zones.
#include "hydro/mesh.hpp"

namespace hydro {
namespace {

/// `before` and `after`: whether there is a strip of `side` zones before and after.
void connect_points(Mesh& mesh, std::uint32_t side, bool before, bool after) {
  const auto own = static_cast<std::uint32_t>(4 * mesh.zones());
  const auto last_line = static_cast<std::uint32_t>(mesh.points()) - (side + 1);
  // Calls visit(point, corner) for all corners, in the order of the zones in the whole square.
  const auto for_each_corner = [&](auto visit) {
    const std::uint32_t of_strip_after = own + (before ? 2 * side : 0);
    for (std::uint32_t i = 0; before && i < 2 * side; ++i) visit((i + 1) / 2, own + i);
    for (std::uint32_t corner = 0; corner < own; ++corner) {
      visit(mesh.zone_points[corner / 4][corner % 4], corner);
    }
    for (std::uint32_t i = 0; after && i < 2 * side; ++i) visit(last_line + (i + 1) / 2, of_strip_after + i);
  };
  mesh.first_corner.assign(mesh.points() + 1, 0);
  for_each_corner([&](std::uint32_t point, std::uint32_t) { ++mesh.first_corner[point + 1]; });
  for (std::uint64_t point = 0; point < mesh.points(); ++point) {
    mesh.first_corner[point + 1] += mesh.first_corner[point];
  }
  std::vector<std::uint32_t> next(mesh.first_corner.begin(), mesh.first_corner.end() - 1);
  mesh.point_corners.resize(mesh.first_corner.back());
  for_each_corner([&](std::uint32_t point, std::uint32_t corner) { mesh.point_corners[next[point]++] = corner; });
}

}  // namespace

Mesh make_strip(std::uint64_t side, Rows rows) {
  Mesh mesh;
  const auto line = static_cast<std::uint32_t>(side + 1);
  const auto height = static_cast<std::uint32_t>(rows.end - rows.begin);
  mesh.zone_points.reserve(height * side);
  for (std::uint32_t j = 0; j < height; ++j) {
    for (std::uint32_t i = 0; i < side; ++i) {
      const std::uint32_t point = j * line + i;
      mesh.zone_points.push_back({point, point + 1, point + line + 1, point + line});
    }
  }
  mesh.walls.reserve(std::uint64_t{line} * (height + 1));
  for (std::uint64_t j = rows.begin; j <= rows.end; ++j) {
    for (std::uint32_t i = 0; i < line; ++i) {
      const int across_x = i == 0 || i == side ? k_wall_x : k_free;
      const int across_y = j == 0 || j == side ? k_wall_y : k_free;
      mesh.walls.push_back(static_cast<std::uint8_t>(across_x | across_y));
    }
  }
  connect_points(mesh, static_cast<std::uint32_t>(side), rows.begin > 0, rows.end < side);
  return mesh;
}

std::vector<Vector> strip_positions(std::uint64_t side, Rows rows) {
  const double width = 1.0 / static_cast<double>(side);
  std::vector<Vector> positions;
  positions.reserve((side + 1) * (rows.end - rows.begin + 1));
  for (std::uint64_t j = rows.begin; j <= rows.end; ++j) {
    for (std::uint64_t i = 0; i <= side; ++i) {
      positions.push_back({static_cast<double>(i) * width, static_cast<double>(j) * width});
    }
  }
  return positions;
}

}  // namespace hydro
