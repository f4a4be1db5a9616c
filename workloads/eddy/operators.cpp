// Implements eddy's operators, element by element: products of small matrices, along r and along s, with the
// values of each. None is inlined, so that each keeps its name at run time.
#include "eddy/operators.hpp"

#include <array>

namespace eddy {
namespace {

using Element = std::array<double, k_max_points * k_max_points>;
using FineElement = std::array<double, k_max_fine * k_max_fine>;

/// du/dr and du/ds in an element.
void slopes_of(const Basis& basis, const double* u, double* ur, double* us) {
  const int n = basis.points;
  multiply(n, n, n, u, basis.derivative_t.data(), ur);
  multiply(n, n, n, basis.derivative.data(), u, us);
}

/// The transposed of slopes_of: result = D_r' fr + D_s' fs.
void test_slopes(const Basis& basis, const double* fr, const double* fs, double* result) {
  const int n = basis.points;
  Element along_s;
  multiply(n, n, n, fr, basis.derivative.data(), result);
  multiply(n, n, n, basis.derivative_t.data(), fs, along_s.data());
  for (int k = 0; k < n * n; ++k) result[k] += along_s[k];
}

/// Multiplies an element's points by (along_s) u (along_r_t), onto the finer grid.
void refine(const Basis& basis, const double* along_s, const double* along_r_t, const double* u, double* fine) {
  FineElement half;
  multiply(basis.points, basis.points, basis.fine, u, along_r_t, half.data());
  multiply(basis.fine, basis.points, basis.fine, along_s, half.data(), fine);
}

/// The transposed of interpolation to the finer grid.
void test_fine(const Basis& basis, const double* fine, double* result) {
  FineElement half;
  multiply(basis.fine, basis.fine, basis.points, fine, basis.to_fine.data(), half.data());
  multiply(basis.points, basis.fine, basis.points, basis.to_fine_t.data(), half.data(), result);
}

}  // namespace

[[gnu::noinline]] void apply_laplacian(const Mesh& mesh, const Field& u, Field& image) {
  const std::int64_t points = mesh.points();
#pragma omp parallel for schedule(static)
  for (std::int64_t element = 0; element < mesh.elements(); ++element) {
    const std::int64_t first = element * points;
    Element ur, us;
    slopes_of(mesh.basis, u.data() + first, ur.data(), us.data());
    for (std::int64_t k = 0; k < points; ++k) {
      const double r = ur[k];
      const double s = us[k];
      ur[k] = mesh.g_rr[first + k] * r + mesh.g_rs[first + k] * s;
      us[k] = mesh.g_rs[first + k] * r + mesh.g_ss[first + k] * s;
    }
    test_slopes(mesh.basis, ur.data(), us.data(), image.data() + first);
  }
}

[[gnu::noinline]] void apply_helmholtz(const Mesh& mesh, const Field& diffusion, const Field& reaction,
                                       const Field& u, Field& image) {
  const std::int64_t points = mesh.points();
#pragma omp parallel for schedule(static)
  for (std::int64_t element = 0; element < mesh.elements(); ++element) {
    const std::int64_t first = element * points;
    Element ur, us;
    slopes_of(mesh.basis, u.data() + first, ur.data(), us.data());
    for (std::int64_t k = 0; k < points; ++k) {
      const double r = diffusion[first + k] * ur[k];
      const double s = diffusion[first + k] * us[k];
      ur[k] = mesh.g_rr[first + k] * r + mesh.g_rs[first + k] * s;
      us[k] = mesh.g_rs[first + k] * r + mesh.g_ss[first + k] * s;
    }
    test_slopes(mesh.basis, ur.data(), us.data(), image.data() + first);
    for (std::int64_t k = first; k < first + points; ++k) image[k] += reaction[k] * mesh.mass[k] * u[k];
  }
}

void laplacian_diagonal(const Mesh& mesh, Field& diagonal) {
  const int n = mesh.basis.points;
  const double* const d = mesh.basis.derivative.data();
  for (std::int64_t element = 0; element < mesh.elements(); ++element) {
    const std::int64_t first = element * mesh.points();
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) {
        double sum = 2.0 * mesh.g_rs[first + j * n + i] * d[i * n + i] * d[j * n + j];
        for (int k = 0; k < n; ++k) {
          sum += mesh.g_rr[first + j * n + k] * d[k * n + i] * d[k * n + i];
          sum += mesh.g_ss[first + k * n + i] * d[k * n + j] * d[k * n + j];
        }
        diagonal[first + j * n + i] = sum;
      }
    }
  }
}

[[gnu::noinline]] void weak_divergence(const Mesh& mesh, const Field& ux, const Field& uy, Field& result) {
  const std::int64_t points = mesh.points();
#pragma omp parallel for schedule(static)
  for (std::int64_t element = 0; element < mesh.elements(); ++element) {
    const std::int64_t first = element * points;
    Element along_r, along_s;
    for (std::int64_t k = 0; k < points; ++k) {
      along_r[k] = mesh.rx[first + k] * ux[first + k] + mesh.ry[first + k] * uy[first + k];
      along_s[k] = mesh.sx[first + k] * ux[first + k] + mesh.sy[first + k] * uy[first + k];
    }
    test_slopes(mesh.basis, along_r.data(), along_s.data(), result.data() + first);
  }
}

[[gnu::noinline]] void subtract_gradient(const Mesh& mesh, const Field& p, Field& ux, Field& uy) {
  const std::int64_t points = mesh.points();
#pragma omp parallel for schedule(static)
  for (std::int64_t element = 0; element < mesh.elements(); ++element) {
    const std::int64_t first = element * points;
    Element pr, ps;
    slopes_of(mesh.basis, p.data() + first, pr.data(), ps.data());
    for (std::int64_t k = 0; k < points; ++k) {
      ux[first + k] -= mesh.rx[first + k] * pr[k] + mesh.sx[first + k] * ps[k];
      uy[first + k] -= mesh.ry[first + k] * pr[k] + mesh.sy[first + k] * ps[k];
    }
  }
}

[[gnu::noinline]] void divergence_and_vorticity(const Mesh& mesh, const Field& ux, const Field& uy,
                                                Field& divergence, Field& vorticity) {
  const std::int64_t points = mesh.points();
#pragma omp parallel for schedule(static)
  for (std::int64_t element = 0; element < mesh.elements(); ++element) {
    const std::int64_t first = element * points;
    Element xr, xs, yr, ys;
    slopes_of(mesh.basis, ux.data() + first, xr.data(), xs.data());
    slopes_of(mesh.basis, uy.data() + first, yr.data(), ys.data());
    for (std::int64_t k = 0; k < points; ++k) {
      const std::int64_t at = first + k;
      const double xx = mesh.rx[at] * xr[k] + mesh.sx[at] * xs[k];
      const double xy = mesh.ry[at] * xr[k] + mesh.sy[at] * xs[k];
      const double yx = mesh.rx[at] * yr[k] + mesh.sx[at] * ys[k];
      const double yy = mesh.ry[at] * yr[k] + mesh.sy[at] * ys[k];
      divergence[at] = (xx + yy) / mesh.mass[at];
      vorticity[at] = (yx - xy) / mesh.mass[at];
    }
  }
}

[[gnu::noinline]] void carry(const Mesh& mesh, const Field& ux, const Field& uy, Field& cr, Field& cs) {
  const Basis& basis = mesh.basis;
  const std::int64_t fine_points = mesh.fine_points();
#pragma omp parallel for schedule(static)
  for (std::int64_t element = 0; element < mesh.elements(); ++element) {
    FineElement x, y;
    const std::int64_t first = element * mesh.points();
    refine(basis, basis.to_fine.data(), basis.to_fine_t.data(), ux.data() + first, x.data());
    refine(basis, basis.to_fine.data(), basis.to_fine_t.data(), uy.data() + first, y.data());
    for (std::int64_t k = 0; k < fine_points; ++k) {
      const std::int64_t at = element * fine_points + k;
      cr[at] = mesh.fine_rx[at] * x[k] + mesh.fine_ry[at] * y[k];
      cs[at] = mesh.fine_sx[at] * x[k] + mesh.fine_sy[at] * y[k];
    }
  }
}

[[gnu::noinline]] void advect(const Mesh& mesh, const Field& cr, const Field& cs, const Field& u, Field& result) {
  const Basis& basis = mesh.basis;
  const std::int64_t fine_points = mesh.fine_points();
#pragma omp parallel for schedule(static)
  for (std::int64_t element = 0; element < mesh.elements(); ++element) {
    FineElement ur, us;
    const std::int64_t first = element * mesh.points();
    refine(basis, basis.to_fine.data(), basis.fine_derivative_t.data(), u.data() + first, ur.data());
    refine(basis, basis.fine_derivative.data(), basis.to_fine_t.data(), u.data() + first, us.data());
    for (std::int64_t k = 0; k < fine_points; ++k) {
      const std::int64_t at = element * fine_points + k;
      ur[k] = -(cr[at] * ur[k] + cs[at] * us[k]);
    }
    test_fine(basis, ur.data(), result.data() + first);
  }
}

[[gnu::noinline]] void filter(const Mesh& mesh, Field& u) {
  const int n = mesh.basis.points;
#pragma omp parallel for schedule(static)
  for (std::int64_t element = 0; element < mesh.elements(); ++element) {
    double* const values = u.data() + element * mesh.points();
    Element half;
    multiply(n, n, n, values, mesh.basis.filter_t.data(), half.data());
    multiply(n, n, n, mesh.basis.filter.data(), half.data(), values);
  }
}

}  // namespace eddy
