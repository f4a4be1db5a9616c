// Finds the points of the polynomials by Newton's method, and makes their matrices by barycentric interpolation.
#include "eddy/basis.hpp"

#include <cmath>
#include <cstddef>
#include <numbers>

namespace eddy {
namespace {

using Vector = std::vector<double>;

struct Legendre {
  double value, before;  // P_n and P_(n-1)
};

Legendre legendre(int n, double x) {
  Legendre p{1.0, 0.0};
  for (int k = 1; k <= n; ++k) p = {((2 * k - 1) * x * p.value - (k - 1) * p.before) / k, p.value};
  return p;
}

/// Newton's method converges quadratically from where it starts here; one step too many does no harm.
constexpr int k_newton_steps = 12;

Vector lobatto_nodes(int order) {
  Vector nodes(static_cast<std::size_t>(order) + 1);
  for (int i = 0; i <= order; ++i) {
    double x = -std::cos(std::numbers::pi * i / order);
    for (int step = 0; step < k_newton_steps; ++step) {
      const Legendre p = legendre(order, x);
      x -= (x * p.value - p.before) / ((order + 1) * p.value);
    }
    nodes[i] = x;
  }
  nodes.front() = -1.0;
  nodes.back() = 1.0;
  return nodes;
}

Vector lobatto_weights(const Vector& nodes) {
  const int order = static_cast<int>(nodes.size()) - 1;
  Vector weights;
  weights.reserve(nodes.size());
  for (const double x : nodes) {
    const double value = legendre(order, x).value;
    weights.push_back(2.0 / (order * (order + 1) * value * value));
  }
  return weights;
}

double legendre_slope(int n, double x) {
  const Legendre p = legendre(n, x);
  return n * (p.before - x * p.value) / (1.0 - x * x);
}

Vector gauss_nodes(int count) {
  Vector nodes(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    double x = -std::cos(std::numbers::pi * (i + 0.75) / (count + 0.5));
    for (int step = 0; step < k_newton_steps; ++step) x -= legendre(count, x).value / legendre_slope(count, x);
    nodes[i] = x;
  }
  return nodes;
}

Vector gauss_weights(const Vector& nodes) {
  const int count = static_cast<int>(nodes.size());
  Vector weights;
  weights.reserve(nodes.size());
  for (const double x : nodes) {
    const double slope = legendre_slope(count, x);
    weights.push_back(2.0 / ((1.0 - x * x) * slope * slope));
  }
  return weights;
}

Vector barycentric_weights(const Vector& nodes) {
  Vector weights(nodes.size(), 1.0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      if (k != i) weights[i] /= nodes[i] - nodes[k];
    }
  }
  return weights;
}

/// From values at `nodes` to values at `targets`.
Vector interpolation(const Vector& nodes, const Vector& targets) {
  const Vector weights = barycentric_weights(nodes);
  Vector matrix(targets.size() * nodes.size(), 0.0);
  for (std::size_t row = 0; row < targets.size(); ++row) {
    double* const line = matrix.data() + row * nodes.size();
    double sum = 0.0;
    bool on_a_node = false;
    for (std::size_t k = 0; k < nodes.size() && !on_a_node; ++k) {
      const double distance = targets[row] - nodes[k];
      on_a_node = std::abs(distance) < 1e-14;
      line[k] = on_a_node ? 1.0 : weights[k] / distance;
      sum += line[k];
    }
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      line[k] = on_a_node ? (std::abs(targets[row] - nodes[k]) < 1e-14 ? 1.0 : 0.0) : line[k] / sum;
    }
  }
  return matrix;
}

Vector derivative_at(const Vector& nodes) {
  const Vector weights = barycentric_weights(nodes);
  const std::size_t n = nodes.size();
  Vector matrix(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) {
      if (k == i) continue;
      matrix[i * n + k] = weights[k] / weights[i] / (nodes[i] - nodes[k]);
      // A constant has no slope, and is to have none after rounding either.
      matrix[i * n + i] -= matrix[i * n + k];
    }
  }
  return matrix;
}

Vector transposed(const Vector& matrix, int rows) {
  const std::size_t columns = matrix.size() / static_cast<std::size_t>(rows);
  Vector result(matrix.size());
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
    for (std::size_t k = 0; k < columns; ++k)
      result[k * static_cast<std::size_t>(rows) + i] = matrix[i * columns + k];
  }
  return result;
}

Vector product(const Vector& a, const Vector& b, int inner) {
  const int rows = static_cast<int>(a.size()) / inner;
  const int columns = static_cast<int>(b.size()) / inner;
  Vector result(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  multiply(rows, inner, columns, a.data(), b.data(), result.data());
  return result;
}

/// Fischer and Mullen, "Filter-based stabilization of spectral element methods", C. R. Acad. Sci. 332, 2001: to
/// order N - 1 and back, in part. The end points stay what they are, so neighbours still agree.
Vector filter_matrix(const Vector& nodes, double weight) {
  const int points = static_cast<int>(nodes.size());
  const Vector fewer = lobatto_nodes(points - 2);
  Vector matrix = product(interpolation(fewer, nodes), interpolation(nodes, fewer), points - 1);
  for (double& entry : matrix) entry *= weight;
  for (int i = 0; i < points; ++i) matrix[i * points + i] += 1.0 - weight;
  return matrix;
}

}  // namespace

Basis make_basis(int order, double filter_weight) {
  Basis basis;
  basis.points = order + 1;
  basis.fine = 3 * basis.points / 2;
  basis.nodes = lobatto_nodes(order);
  basis.weights = lobatto_weights(basis.nodes);
  basis.fine_nodes = gauss_nodes(basis.fine);
  basis.fine_weights = gauss_weights(basis.fine_nodes);
  basis.derivative = derivative_at(basis.nodes);
  basis.derivative_t = transposed(basis.derivative, basis.points);
  basis.to_fine = interpolation(basis.nodes, basis.fine_nodes);
  basis.to_fine_t = transposed(basis.to_fine, basis.fine);
  basis.fine_derivative = product(basis.to_fine, basis.derivative, basis.points);
  basis.fine_derivative_t = transposed(basis.fine_derivative, basis.fine);
  basis.filter = filter_matrix(basis.nodes, filter_weight);
  basis.filter_t = transposed(basis.filter, basis.points);
  return basis;
}

}  // namespace eddy
