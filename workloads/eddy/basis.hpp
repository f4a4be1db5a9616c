// Declares eddy's polynomials of order N on [-1, 1], by their values at the Gauss-Lobatto-Legendre points:
// derivative, quadrature, interpolation to a finer grid of Gauss-Legendre points and back, and a filter.
// Source: Deville, Fischer and Mund, "High-order methods for incompressible fluid flow", 2002, chapter 2 and
// appendix B; Berrut and Trefethen, "Barycentric Lagrange interpolation", SIAM Review 46, 2004.
#pragma once

#include <vector>

namespace eddy {

constexpr int k_max_order = 15;
constexpr int k_max_points = k_max_order + 1;
constexpr int k_max_fine = 3 * k_max_points / 2;

/// Matrices lie by rows; `_t` is the transposed one.
struct Basis {
  int points = 0;  // N + 1
  int fine = 0;    // points of the finer grid
  std::vector<double> nodes, weights;
  std::vector<double> fine_nodes, fine_weights;
  std::vector<double> derivative, derivative_t;            // points x points
  std::vector<double> to_fine, to_fine_t;                  // fine x points
  std::vector<double> fine_derivative, fine_derivative_t;  // the derivative, on the finer grid
  std::vector<double> filter, filter_t;                    // points x points
};

/// `filter_weight` is how much of order N's part the filter takes away.
Basis make_basis(int order, double filter_weight);

/// c = a b, for a of rows x inner and b of inner x columns.
inline void multiply(int rows, int inner, int columns, const double* a, const double* b, double* c) {
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      double sum = 0.0;
      for (int k = 0; k < inner; ++k) sum += a[i * inner + k] * b[k * columns + j];
      c[i * columns + j] = sum;
    }
  }
}

}  // namespace eddy
