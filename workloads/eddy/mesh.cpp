// Makes the mesh of the workload eddy: coordinates of the curved elements, then all that follows from them.
#include "eddy/mesh.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <utility>

namespace eddy {
namespace {

constexpr double k_length = 2.0 * std::numbers::pi;
/// How far the lines of the mesh swing, so that its elements have curved sides and no two the same metrics.
constexpr double k_swing = 0.15;

void place_points(Mesh& mesh) {
  const int n = mesh.basis.points;
  const double width = k_length / static_cast<double>(mesh.side);
  mesh.x.resize(mesh.size());
  mesh.y.resize(mesh.size());
  std::size_t at = 0;
  const std::int64_t first = mesh.part->first();
  for (std::int64_t element = first; element < first + mesh.elements(); ++element) {
    const auto row = static_cast<double>(element / mesh.side);
    const auto column = static_cast<double>(element % mesh.side);
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i, ++at) {
        const double x = width * (column + 0.5 * (1.0 + mesh.basis.nodes[i]));
        const double y = width * (row + 0.5 * (1.0 + mesh.basis.nodes[j]));
        mesh.x[at] = x + k_swing * std::sin(y);
        mesh.y[at] = y + k_swing * std::sin(x);
      }
    }
  }
}

/// Derivatives of x and y by r and s in one element, at n points a side.
struct Slopes {
  std::array<double, k_max_fine * k_max_fine> xr, xs, yr, ys;
};

void find_slopes(const Mesh& mesh, std::int64_t element, Slopes& slopes) {
  const int n = mesh.basis.points;
  const double* const x = mesh.x.data() + element * mesh.points();
  const double* const y = mesh.y.data() + element * mesh.points();
  multiply(n, n, n, x, mesh.basis.derivative_t.data(), slopes.xr.data());
  multiply(n, n, n, mesh.basis.derivative.data(), x, slopes.xs.data());
  multiply(n, n, n, y, mesh.basis.derivative_t.data(), slopes.yr.data());
  multiply(n, n, n, mesh.basis.derivative.data(), y, slopes.ys.data());
}

void to_fine(const Basis& basis, std::array<double, k_max_fine * k_max_fine>& values) {
  std::array<double, k_max_fine * k_max_fine> half;
  multiply(basis.points, basis.points, basis.fine, values.data(), basis.to_fine_t.data(), half.data());
  multiply(basis.fine, basis.points, basis.fine, basis.to_fine.data(), half.data(), values.data());
}

void find_geometry(Mesh& mesh) {
  mesh.rx.resize(mesh.size());
  mesh.ry.resize(mesh.size());
  mesh.sx.resize(mesh.size());
  mesh.sy.resize(mesh.size());
  mesh.mass.resize(mesh.size());
  mesh.g_rr.resize(mesh.size());
  mesh.g_rs.resize(mesh.size());
  mesh.g_ss.resize(mesh.size());
  const int n = mesh.basis.points;
  Slopes slopes;
  for (std::int64_t element = 0; element < mesh.elements(); ++element) {
    find_slopes(mesh, element, slopes);
    for (int k = 0; k < n * n; ++k) {
      const auto at = static_cast<std::size_t>(element * mesh.points() + k);
      const double weight = mesh.basis.weights[k % n] * mesh.basis.weights[k / n];
      const double jacobian = slopes.xr[k] * slopes.ys[k] - slopes.xs[k] * slopes.yr[k];
      mesh.rx[at] = weight * slopes.ys[k];
      mesh.ry[at] = -weight * slopes.xs[k];
      mesh.sx[at] = -weight * slopes.yr[k];
      mesh.sy[at] = weight * slopes.xr[k];
      mesh.mass[at] = weight * jacobian;
      mesh.g_rr[at] = (mesh.rx[at] * mesh.rx[at] + mesh.ry[at] * mesh.ry[at]) / mesh.mass[at];
      mesh.g_rs[at] = (mesh.rx[at] * mesh.sx[at] + mesh.ry[at] * mesh.sy[at]) / mesh.mass[at];
      mesh.g_ss[at] = (mesh.sx[at] * mesh.sx[at] + mesh.sy[at] * mesh.sy[at]) / mesh.mass[at];
    }
  }
}

void find_fine_geometry(Mesh& mesh) {
  mesh.fine_rx.resize(mesh.fine_size());
  mesh.fine_ry.resize(mesh.fine_size());
  mesh.fine_sx.resize(mesh.fine_size());
  mesh.fine_sy.resize(mesh.fine_size());
  const int m = mesh.basis.fine;
  Slopes slopes;
  for (std::int64_t element = 0; element < mesh.elements(); ++element) {
    find_slopes(mesh, element, slopes);
    for (auto* values : {&slopes.xr, &slopes.xs, &slopes.yr, &slopes.ys}) to_fine(mesh.basis, *values);
    for (int k = 0; k < m * m; ++k) {
      const auto at = static_cast<std::size_t>(element * mesh.fine_points() + k);
      const double weight = mesh.basis.fine_weights[k % m] * mesh.basis.fine_weights[k / m];
      mesh.fine_rx[at] = weight * slopes.ys[k];
      mesh.fine_ry[at] = -weight * slopes.xs[k];
      mesh.fine_sx[at] = -weight * slopes.yr[k];
      mesh.fine_sy[at] = weight * slopes.xr[k];
    }
  }
}

void number_points(Mesh& mesh) {
  const std::int64_t first = mesh.part->first();
  mesh.number.reserve(mesh.size());
  for (std::int64_t element = first; element < first + mesh.elements(); ++element) {
    for (int k = 0; k < mesh.points(); ++k) {
      mesh.number.push_back(point_number(mesh.side, mesh.basis.points, element, k));
    }
  }
}

/// Returns how many elements of the whole mesh have a point.
double elements_around(const Mesh& mesh, std::uint32_t number) {
  const auto inside = static_cast<std::uint32_t>(mesh.basis.points - 1);
  const auto line = static_cast<std::uint32_t>(mesh.side) * inside;
  const bool on_column = number % line % inside == 0;
  const bool on_row = number / line % inside == 0;
  return (on_column ? 2.0 : 1.0) * (on_row ? 2.0 : 1.0);
}

void connect_points(Mesh& mesh) {
  const auto line = static_cast<std::size_t>(mesh.side) * static_cast<std::size_t>(mesh.basis.points - 1);
  std::vector<std::uint32_t> count(line * line, 0);
  for (const std::uint32_t number : mesh.number) ++count[number];

  mesh.share.reserve(mesh.size());
  std::size_t shared = 0;
  std::size_t copies = 0;
  for (const std::uint32_t number : mesh.number) mesh.share.push_back(1.0 / elements_around(mesh, number));
  for (const std::uint32_t times : count) {
    shared += times > 1 ? 1 : 0;
    copies += times > 1 ? times : 0;
  }
  mesh.first_copy.reserve(shared + 1);
  mesh.first_copy.push_back(0);
  constexpr std::uint32_t k_alone = ~std::uint32_t{0};
  std::vector<std::uint32_t> next(count.size(), k_alone);
  for (std::size_t number = 0; number < count.size(); ++number) {
    if (count[number] < 2) continue;
    next[number] = mesh.first_copy.back();
    mesh.first_copy.push_back(mesh.first_copy.back() + count[number]);
  }
  mesh.copies.resize(copies);
  for (std::uint32_t point = 0; point < mesh.number.size(); ++point) {
    std::uint32_t& place = next[mesh.number[point]];
    if (place != k_alone) mesh.copies[place++] = point;
  }
}

}  // namespace

std::uint32_t point_number(std::int64_t side, int points, std::int64_t element, int index) {
  const std::int64_t line = side * (points - 1);
  const std::int64_t column = (element % side * (points - 1) + index % points) % line;
  const std::int64_t row = (element / side * (points - 1) + index / points) % line;
  return static_cast<std::uint32_t>(row * line + column);
}

Mesh make_mesh(std::int64_t side, Basis basis, const Part& part) {
  Mesh mesh;
  mesh.side = side;
  mesh.part = &part;
  mesh.basis = std::move(basis);
  place_points(mesh);
  find_geometry(mesh);
  find_fine_geometry(mesh);
  number_points(mesh);
  connect_points(mesh);
  mesh.inverse_mass = mesh.mass;
  sum_shared(mesh, mesh.inverse_mass);
  for (double& mass : mesh.inverse_mass) mass = 1.0 / mass;
  return mesh;
}

[[gnu::noinline]] void sum_shared(const Mesh& mesh, Field& field) {
  const auto shared = static_cast<std::int64_t>(mesh.first_copy.size()) - 1;
  const std::uint32_t* const copies = mesh.copies.data();
  double* const values = field.data();
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < shared; ++i) {
    const std::uint32_t begin = mesh.first_copy[i];
    const std::uint32_t end = mesh.first_copy[i + 1];
    double sum = 0.0;
    for (std::uint32_t k = begin; k < end; ++k) sum += values[copies[k]];
    for (std::uint32_t k = begin; k < end; ++k) values[copies[k]] = sum;
  }
  mesh.part->add_copies(field);
}

[[gnu::noinline]] void average_shared(const Mesh& mesh, Field& field) {
  const auto size = static_cast<std::int64_t>(field.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < size; ++k) field[k] *= mesh.share[k];
  sum_shared(mesh, field);
}

double min_distance(std::int64_t side, const Basis& basis) {
  const double width = k_length / static_cast<double>(side);
  return (1.0 - k_swing) * width * 0.5 * (basis.nodes[1] - basis.nodes[0]);
}

}  // namespace eddy
