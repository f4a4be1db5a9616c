// Implements eddy's solvers. Sums run element by element (sum_over_elements), so that results do not depend on the
// number of threads, and no kernel is inlined, so that each keeps its name at run time.
#include "eddy/solver.hpp"

#include <array>
#include <cmath>
#include <cstddef>

#include "eddy/operators.hpp"

namespace eddy {
namespace {

constexpr int k_max_iterations = 2000;

/// The residual's norm over the square, free of the mass that it holds.
[[gnu::noinline]] double size_of(const Mesh& mesh, const Field& residual, Field& partial) {
  const std::int64_t points = mesh.points();
  const double sum = sum_over_elements(mesh, partial, [&](std::int64_t element) {
    double part = 0.0;
    for (std::int64_t k = element * points; k < (element + 1) * points; ++k) {
      part += mesh.share[k] * mesh.inverse_mass[k] * residual[k] * residual[k];
    }
    return part;
  });
  return std::sqrt(sum);
}

[[gnu::noinline]] void scale(const Field& diagonal, const Field& residual, Field& preconditioned) {
  const auto size = static_cast<std::int64_t>(residual.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < size; ++k) preconditioned[k] = diagonal[k] * residual[k];
}

/// Sums a residual into linear functions between corners.
[[gnu::noinline]] void restrict_to_corners(const Mesh& mesh, const Field& residual, Coarse& coarse) {
  const int n = mesh.basis.points;
  const std::int64_t side = mesh.side;
  const std::int64_t first = mesh.part->first();
#pragma omp parallel for schedule(static)
  for (std::int64_t element = 0; element < mesh.elements(); ++element) {
    std::array<double, 4> sums{};
    for (int j = 0; j < n; ++j) {
      double left = 0.0;
      double right = 0.0;
      for (int i = 0; i < n; ++i) {
        const std::int64_t at = element * mesh.points() + j * n + i;
        const double value = mesh.share[at] * residual[at];
        left += coarse.hats[i] * value;
        right += coarse.hats[n + i] * value;
      }
      sums[0] += coarse.hats[j] * left;
      sums[1] += coarse.hats[j] * right;
      sums[2] += coarse.hats[n + j] * left;
      sums[3] += coarse.hats[n + j] * right;
    }
    for (int c = 0; c < 4; ++c) coarse.by_element[4 * (first + element) + c] = sums[c];
  }
  mesh.part->gather(coarse.by_element, 4);
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < side; ++row) {
    const std::int64_t below = (row + side - 1) % side;
    for (std::int64_t column = 0; column < side; ++column) {
      const std::int64_t left = (column + side - 1) % side;
      coarse.by_corner[row * side + column] =
          coarse.by_element[4 * (row * side + column)] + coarse.by_element[4 * (row * side + left) + 1] +
          coarse.by_element[4 * (below * side + column) + 2] + coarse.by_element[4 * (below * side + left) + 3];
    }
  }
}

/// values = transform values transform.
void transform_both_ways(std::int64_t side, const Field& transform, Field& values, Field& half) {
  const int n = static_cast<int>(side);
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < side; ++row) {
    multiply(1, n, n, transform.data() + row * side, values.data(), half.data() + row * side);
  }
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < side; ++row) {
    multiply(1, n, n, half.data() + row * side, transform.data(), values.data() + row * side);
  }
}

[[gnu::noinline]] void solve_corners(std::int64_t side, Coarse& coarse) {
  transform_both_ways(side, coarse.transform, coarse.by_corner, coarse.transformed);
  for (std::int64_t k = 0; k < side * side; ++k) coarse.by_corner[k] *= coarse.inverse[k];
  transform_both_ways(side, coarse.transform, coarse.by_corner, coarse.transformed);
}

/// The transposed of restrict_to_corners, added.
[[gnu::noinline]] void add_from_corners(const Mesh& mesh, const Coarse& coarse, Field& preconditioned) {
  const int n = mesh.basis.points;
  const std::int64_t side = mesh.side;
  const std::int64_t first = mesh.part->first();
#pragma omp parallel for schedule(static)
  for (std::int64_t element = 0; element < mesh.elements(); ++element) {
    const std::int64_t row = (first + element) / side;
    const std::int64_t column = (first + element) % side;
    const std::int64_t above = (row + 1) % side;
    const std::int64_t right = (column + 1) % side;
    const double corners[4] = {coarse.by_corner[row * side + column], coarse.by_corner[row * side + right],
                               coarse.by_corner[above * side + column], coarse.by_corner[above * side + right]};
    for (int j = 0; j < n; ++j) {
      const double at_left = coarse.hats[j] * corners[0] + coarse.hats[n + j] * corners[2];
      const double at_right = coarse.hats[j] * corners[1] + coarse.hats[n + j] * corners[3];
      for (int i = 0; i < n; ++i) {
        preconditioned[element * mesh.points() + j * n + i] +=
            coarse.hats[i] * at_left + coarse.hats[n + i] * at_right;
      }
    }
  }
}

[[gnu::noinline]] void turn(double beta, const Field& preconditioned, Field& direction) {
  const auto size = static_cast<std::int64_t>(direction.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < size; ++k) direction[k] = preconditioned[k] + beta * direction[k];
}

[[gnu::noinline]] void advance(double alpha, Krylov& cg, Field& x) {
  const auto size = static_cast<std::int64_t>(x.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < size; ++k) {
    x[k] += alpha * cg.direction[k];
    cg.residual[k] -= alpha * cg.image[k];
  }
}

/// Preconditioned conjugate gradients. Source: Deville, Fischer and Mund, 2002, section 4.5.
template <typename Apply, typename Precondition>
Solved solve(const Mesh& mesh, const Apply& apply, const Precondition& precondition, Krylov& cg, Field& partial,
             double tolerance, Field& x) {
  double rho_before = 0.0;
  double size = size_of(mesh, cg.residual, partial);
  int iterations = 0;
  for (; size > tolerance && iterations < k_max_iterations; ++iterations) {
    precondition();
    const double rho = dot(mesh, cg.residual.data(), cg.preconditioned.data(), partial);
    // The first direction is the preconditioned residual: what was there before is multiplied by 0.
    turn(iterations == 0 ? 0.0 : rho / rho_before, cg.preconditioned, cg.direction);
    rho_before = rho;
    apply();
    sum_shared(mesh, cg.image);
    advance(rho / dot(mesh, cg.direction.data(), cg.image.data(), partial), cg, x);
    size = size_of(mesh, cg.residual, partial);
  }
  return {iterations, size};
}

/// Coefficients of earlier solutions, by their place: of the products' matrix, the part that Cholesky's method
/// finds independent, from the newest on.
std::array<double, k_earlier> fit(const Earlier& earlier, const std::array<double, k_earlier>& right) {
  constexpr double k_dependent = 1e-12;  // of a solution's own product with itself
  std::array<double, k_earlier * k_earlier> lower{};
  std::array<double, k_earlier> middle{};
  std::array<int, k_earlier> places{};
  int found = 0;
  for (int age = 0; age < earlier.count; ++age) {
    const int place = (earlier.newest + k_earlier - age) % k_earlier;
    double* const row = lower.data() + found * k_earlier;
    double pivot = earlier.products[place * k_earlier + place];
    const double own = pivot;
    double rest = right[place];
    for (int i = 0; i < found; ++i) {
      double entry = earlier.products[place * k_earlier + places[i]];
      for (int k = 0; k < i; ++k) entry -= row[k] * lower[i * k_earlier + k];
      row[i] = entry / lower[i * k_earlier + i];
      pivot -= row[i] * row[i];
      rest -= row[i] * middle[i];
    }
    if (!(pivot > k_dependent * own)) continue;
    row[found] = std::sqrt(pivot);
    middle[found] = rest / row[found];
    places[found++] = place;
  }
  std::array<double, k_earlier> coefficients{};
  for (int i = found - 1; i >= 0; --i) {
    double value = middle[i];
    for (int k = i + 1; k < found; ++k) value -= lower[k * k_earlier + i] * coefficients[places[k]];
    coefficients[places[i]] = value / lower[i * k_earlier + i];
  }
  return coefficients;
}

}  // namespace

Coarse make_coarse(const Mesh& mesh) {
  Coarse coarse;
  const auto side = static_cast<std::size_t>(mesh.side);
  for (const double end : {-1.0, 1.0}) {
    for (const double node : mesh.basis.nodes) coarse.hats.push_back(0.5 * (1.0 + end * node));
  }
  coarse.transform.resize(side * side);
  coarse.inverse.resize(side * side);
  coarse.by_element.resize(4 * side * side);
  coarse.by_corner.resize(side * side);
  coarse.transformed.resize(side * side);
  // Hartley's functions cos + sin, which are their own inverse but for the factor `side` an axis. Of a line of
  // linear elements of width 1 their eigenvalues are 2 - 2 cos (stiffness) and (4 + 2 cos) / 6 (mass); on the
  // square widths cancel.
  const double step = 2.0 * std::acos(-1.0) / static_cast<double>(side);
  const auto angle = [&](std::size_t k) { return step * static_cast<double>(k % side); };
  for (std::size_t a = 0; a < side; ++a) {
    for (std::size_t b = 0; b < side; ++b) {
      coarse.transform[a * side + b] = std::cos(angle(a * b)) + std::sin(angle(a * b));
      const double cos_a = std::cos(angle(a));
      const double cos_b = std::cos(angle(b));
      const double value = (2.0 - 2.0 * cos_a) * (4.0 + 2.0 * cos_b) + (2.0 - 2.0 * cos_b) * (4.0 + 2.0 * cos_a);
      const double factor = static_cast<double>(side * side) / 6.0;
      // The constant is no business of a Poisson equation without walls.
      coarse.inverse[a * side + b] = a + b == 0 ? 0.0 : 1.0 / (factor * value);
    }
  }
  return coarse;
}

[[gnu::noinline]] double dot(const Mesh& mesh, const double* a, const double* b, Field& partial) {
  const std::int64_t points = mesh.points();
  return sum_over_elements(mesh, partial, [&](std::int64_t element) {
    double part = 0.0;
    for (std::int64_t k = element * points; k < (element + 1) * points; ++k) part += mesh.share[k] * a[k] * b[k];
    return part;
  });
}

Solved solve_laplacian(const Mesh& mesh, Krylov& cg, Coarse& coarse, Field& partial, double tolerance, Field& p) {
  const auto precondition = [&] {
    scale(cg.inverse_diagonal, cg.residual, cg.preconditioned);
    restrict_to_corners(mesh, cg.residual, coarse);
    solve_corners(mesh.side, coarse);
    add_from_corners(mesh, coarse, cg.preconditioned);
  };
  const auto apply = [&] { apply_laplacian(mesh, cg.direction, cg.image); };
  return solve(mesh, apply, precondition, cg, partial, tolerance, p);
}

Solved solve_helmholtz(const Mesh& mesh, const Field& diffusion, const Field& reaction, Krylov& cg, Field& partial,
                       double tolerance, Field& u) {
  const auto precondition = [&] { scale(cg.inverse_diagonal, cg.residual, cg.preconditioned); };
  const auto apply = [&] { apply_helmholtz(mesh, diffusion, reaction, cg.direction, cg.image); };
  return solve(mesh, apply, precondition, cg, partial, tolerance, u);
}

[[gnu::noinline]] void project(const Mesh& mesh, const Earlier& earlier, Field& partial, Field& x, Field& b) {
  const auto size = static_cast<std::int64_t>(mesh.size());
  std::array<double, k_earlier> right{};
  for (int i = 0; i < earlier.count; ++i) {
    right[i] = dot(mesh, earlier.solutions.data() + i * size, b.data(), partial);
  }
  const std::array<double, k_earlier> coefficients = fit(earlier, right);
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < size; ++k) {
    double value = 0.0;
    double image = 0.0;
    for (int i = 0; i < earlier.count; ++i) {
      value += coefficients[i] * earlier.solutions[i * size + k];
      image += coefficients[i] * earlier.images[i * size + k];
    }
    x[k] = value;
    b[k] -= image;
  }
}

[[gnu::noinline]] void remember(const Mesh& mesh, const Field& x, const Field& image, Field& partial,
                                Earlier& earlier) {
  const auto size = static_cast<std::int64_t>(mesh.size());
  earlier.newest = (earlier.newest + 1) % k_earlier;
  if (earlier.count < k_earlier) ++earlier.count;
  const std::int64_t first = earlier.newest * size;
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < size; ++k) {
    earlier.solutions[first + k] = x[k];
    earlier.images[first + k] = image[k];
  }
  for (int i = 0; i < earlier.count; ++i) {
    const double product = dot(mesh, x.data(), earlier.images.data() + i * size, partial);
    earlier.products[earlier.newest * k_earlier + i] = product;
    earlier.products[i * k_earlier + earlier.newest] = product;
  }
}

}  // namespace eddy
