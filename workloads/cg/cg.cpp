// NPB CG: the smallest eigenvalue of a large sparse symmetric matrix, by inverse iteration in which each
// linear system is solved with 25 steps of conjugate gradients. Source: RNR-94-007, section 2.3.3.
//
// An iteration is one step of the inverse iteration. Its phases are cut where an MPI version would reduce:
// init, 25 times (matvec, update), residual, normalise.
#include <algorithm>
#include <cmath>
#include <string>

#include "cg/matrix.hpp"
#include "cg/problems.hpp"
#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/npb.hpp"

namespace cg {

using Vector = std::vector<double>;

// The kernels are never inlined, and visible outside of this file, so that each keeps its name at run time:
// phases can be told by function entries too.

[[gnu::noinline]] double dot(const Vector& x, const Vector& y) {
  double sum = 0.0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

/// z = 0, q = 0, r = p = x; returns r.r.
[[gnu::noinline]] double initialise(const Vector& x, Vector& z, Vector& p, Vector& q, Vector& r) {
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < x.size(); ++i) {
    q[i] = 0.0;
    z[i] = 0.0;
    r[i] = x[i];
    p[i] = x[i];
  }
  return dot(r, r);
}

/// One step of conjugate gradients once q = A p is known; returns the new r.r.
[[gnu::noinline]] double update(double rho, Vector& z, Vector& p, const Vector& q, Vector& r) {
  const double alpha = rho / dot(p, q);
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < z.size(); ++i) {
    z[i] += alpha * p[i];
    r[i] -= alpha * q[i];
  }
  const double rho_new = dot(r, r);
  const double beta = rho_new / rho;
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < p.size(); ++i) p[i] = r[i] + beta * p[i];
  return rho_new;
}

/// || x - A z ||, with A z left in r.
[[gnu::noinline]] double residual(const Matrix& matrix, const Vector& x, const Vector& z, Vector& r) {
  multiply(matrix, z, r);
  double sum = 0.0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - r[i]) * (x[i] - r[i]);
  return std::sqrt(sum);
}

/// Solves A z = x approximately; returns || x - A z ||.
[[gnu::noinline]] double conj_grad(const Matrix& matrix, const Vector& x, Vector& z, Vector& p, Vector& q,
                                   Vector& r) {
  workloads::phase("init");
  double rho = initialise(x, z, p, q, r);
  for (int step = 0; step < k_steps; ++step) {
    workloads::phase("matvec");
    multiply(matrix, p, q);
    workloads::phase("update");
    rho = update(rho, z, p, q, r);
  }
  workloads::phase("residual");
  return residual(matrix, x, z, r);
}

/// x = z / || z ||; returns x.z as it was before, from which the eigenvalue estimate follows.
[[gnu::noinline]] double normalise(const Vector& z, Vector& x) {
  const double product = dot(x, z);
  const double scale = 1.0 / std::sqrt(dot(z, z));
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = scale * z[i];
  return product;
}

int run(const workloads::NpbArguments& arguments) {
  const Problem& problem = problem_of(arguments.problem_class);
  const auto order = static_cast<std::size_t>(problem.shape.order);
  const Matrix matrix = make_matrix(problem.shape);
  Vector x(order, 1.0);
  Vector z(order);
  Vector p(order);
  Vector q(order);
  Vector r(order);

  // The benchmark runs one iteration before it starts its clock, then begins again.
  conj_grad(matrix, x, z, p, q, r);
  normalise(z, x);
  std::fill(x.begin(), x.end(), 1.0);

  double zeta = 0.0;
  const double begin = workloads::seconds();
  workloads::loop_begin("main");
  for (std::uint64_t iteration = 1; iteration <= arguments.iterations; ++iteration) {
    conj_grad(matrix, x, z, p, q, r);
    workloads::phase("normalise");
    const double product = normalise(z, x);
    if (iteration == problem.iterations) zeta = problem.shape.shift + 1.0 / product;
  }
  workloads::loop_end();
  const double end = workloads::seconds();

  return workloads::report({.name = "CG",
                            .problem_class = problem.name,
                            .size = std::to_string(problem.shape.order),
                            .iterations = arguments.iterations,
                            .official_iterations = problem.iterations,
                            .seconds = end - begin,
                            .operations = operations(problem, arguments.iterations),
                            .quantity = "Zeta",
                            .value = zeta,
                            .reference = problem.zeta,
                            .tolerance = 1e-10});
}

}  // namespace cg

int main(int argc, char** argv) {
  return cg::run(
      workloads::parse_npb_arguments(argc, argv, "cg", "NPB CG: conjugate gradients on a random sparse matrix",
                                     [](char problem_class) { return cg::problem_of(problem_class).iterations; }));
}
