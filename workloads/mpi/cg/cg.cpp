// SPDX-License-Identifier: Apache-2.0
// NPB CG on several ranks: the smallest eigenvalue of a sparse matrix by inverse iteration, each linear system
// solved with 25 steps of conjugate gradients. Source: RNR-94-007, section 2.3.3; decomposition and messages as in
// NPB's MPI version.
//
// The ranks form a grid of R rows and R or 2R columns. Rank (i, j) has block (i, j) of the matrix, and part j of
// each vector. Sums over a row of the grid, of vectors and of scalars, are exchanged between pairs of ranks
// (recursive doubling); then each rank exchanges its part with the rank at the transposed position. Each exchange
// is an Irecv, a Send and a Wait.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "cg/matrix.hpp"
#include "cg/problems.hpp"
#include "common/clock.hpp"
#include "common/npb.hpp"
#include "mpi/common/environment.hpp"

namespace cg {

using Vector = std::vector<double>;

struct Part {
  int begin;
  int size;
};

/// Sends and receives elements at once; the partner calls it too.
void exchange(int partner, const double* sent, int num_sent, double* received, int num_received) {
  MPI_Request request;
  MPI_Irecv(received, num_received, MPI_DOUBLE, partner, 0, MPI_COMM_WORLD, &request);
  MPI_Send(sent, num_sent, MPI_DOUBLE, partner, 0, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/// The matrix in blocks on a grid of ranks. Requires: the number of ranks is a power of two.
class DistributedMatrix {
 public:
  DistributedMatrix(const MatrixShape& shape, int rank, int ranks)
      : rows_(1 << std::countr_zero(static_cast<unsigned>(ranks)) / 2),
        columns_(ranks / rows_),
        row_(rank / columns_),
        column_(rank % columns_) {
    const auto bound = [&](int part, int parts) { return workloads::first_of_part(shape.order, part, parts); };
    const MatrixBlock block{bound(row_, rows_), bound(row_ + 1, rows_), bound(column_, columns_),
                            bound(column_ + 1, columns_)};
    width_ = static_cast<std::size_t>(block.end_column - block.first_column);
    block_ = make_matrix(shape, block);
    products_.resize(block_.rows());
    received_.resize(block_.rows());
    if (columns_ == rows_) {
      transposed_ = column_ * columns_ + row_;
      halves_[0] = halves_[1] = {0, static_cast<int>(products_.size())};
    } else {
      // Columns j and j ^ 1 have the two halves of the rows of grid row j / 2.
      transposed_ = column_ / 2 * columns_ + 2 * row_ + column_ % 2;
      const int middle = bound(2 * row_ + 1, columns_) - block.first_row;
      halves_[0] = {0, middle};
      halves_[1] = {middle, static_cast<int>(products_.size()) - middle};
    }
  }

  /// Returns the number of elements of this rank's part of a vector.
  std::size_t width() const { return width_; }

  /// Computes y = A x.
  void multiply(const Vector& x, Vector& y) {
    cg::multiply(block_, x, products_);
    const Part own = halves_[column_ % 2];
    for (int bit = 1; bit < columns_; bit *= 2) {
      const Part sent = halves_[(column_ ^ bit) % 2];
      exchange(in_row(column_ ^ bit), products_.data() + sent.begin, sent.size, received_.data(), own.size);
      for (int i = 0; i < own.size; ++i) products_[own.begin + i] += received_[i];
    }
    exchange(transposed_, products_.data() + own.begin, own.size, y.data(), static_cast<int>(y.size()));
  }

  /// Returns the sum of a value over the ranks of a row of the grid, which together have a whole vector.
  double sum(double value) const {
    for (int bit = 1; bit < columns_; bit *= 2) {
      double received = 0.0;
      exchange(in_row(column_ ^ bit), &value, 1, &received, 1);
      value += received;
    }
    return value;
  }

  double dot(const Vector& x, const Vector& y) const {
    return sum(std::inner_product(x.begin(), x.end(), y.begin(), 0.0));
  }

 private:
  int in_row(int column) const { return row_ * columns_ + column; }

  int rows_, columns_;  // of the grid of ranks
  int row_, column_;    // of this rank
  int transposed_ = 0;
  std::size_t width_ = 0;
  Matrix block_;
  Part halves_[2] = {};  // of the block's rows, by the columns of the grid that need their products
  Vector products_;      // of the block's rows
  Vector received_;
};

/// Solves A z = x approximately; returns || x - A z ||.
double conj_grad(DistributedMatrix& matrix, const Vector& x, Vector& z, Vector& p, Vector& q, Vector& r) {
  std::fill(z.begin(), z.end(), 0.0);
  r = x;
  p = x;
  double rho = matrix.dot(r, r);
  for (int step = 0; step < k_steps; ++step) {
    matrix.multiply(p, q);
    const double alpha = rho / matrix.dot(p, q);
    for (std::size_t i = 0; i < z.size(); ++i) {
      z[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    const double rho_new = matrix.dot(r, r);
    const double beta = rho_new / rho;
    rho = rho_new;
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = r[i] + beta * p[i];
  }
  matrix.multiply(z, r);
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - r[i]) * (x[i] - r[i]);
  return std::sqrt(matrix.sum(sum));
}

/// Computes x = z / || z ||; returns x.z as it was before, from which the eigenvalue estimate follows.
double normalise(const DistributedMatrix& matrix, const Vector& z, Vector& x) {
  const double product = matrix.dot(x, z);
  const double scale = 1.0 / std::sqrt(matrix.dot(z, z));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = scale * z[i];
  return product;
}

int run(const workloads::MpiEnvironment& mpi, const workloads::NpbArguments& arguments) {
  const Problem& problem = problem_of(arguments.problem_class);
  DistributedMatrix matrix(problem.shape, mpi.rank(), mpi.size());
  Vector x(matrix.width(), 1.0);
  Vector z(x.size());
  Vector p(x.size());
  Vector q(x.size());
  Vector r(x.size());

  // The benchmark runs one iteration before it starts its clock, then begins again.
  conj_grad(matrix, x, z, p, q, r);
  normalise(matrix, z, x);
  std::fill(x.begin(), x.end(), 1.0);

  double zeta = 0.0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = workloads::seconds();
  for (std::uint64_t iteration = 1; iteration <= arguments.iterations; ++iteration) {
    const double residual = conj_grad(matrix, x, z, p, q, r);
    const double product = normalise(matrix, z, x);
    const double estimate = problem.shape.shift + 1.0 / product;
    if (mpi.prints())
      std::printf(" Iteration %5llu: residual %20.14E, zeta %20.13f\n", static_cast<unsigned long long>(iteration),
                  residual, estimate);
    if (iteration == problem.iterations) zeta = estimate;
  }
  const double seconds = workloads::max_of_ranks(workloads::seconds() - begin);
  if (!mpi.prints()) return 0;
  return workloads::report({.name = "CG",
                            .problem_class = problem.name,
                            .size = std::to_string(problem.shape.order),
                            .iterations = arguments.iterations,
                            .official_iterations = problem.iterations,
                            .seconds = seconds,
                            .operations = operations(problem, arguments.iterations),
                            .quantity = "Zeta",
                            .value = zeta,
                            .reference = problem.zeta,
                            .tolerance = 1e-10});
}

}  // namespace cg

int main(int argc, char** argv) {
  const workloads::MpiEnvironment mpi(&argc, &argv);
  const auto arguments = workloads::parse_npb_arguments(
      argc, argv, "cg", "NPB CG on MPI ranks, whose number is a power of two",
      [](char problem_class) { return cg::problem_of(problem_class).iterations; }, mpi.prints());
  if (!std::has_single_bit(static_cast<unsigned>(mpi.size())))
    mpi.fail("cg", std::to_string(mpi.size()) + " ranks: a power of two is required");
  return mpi.exit_status(cg::run(mpi, arguments));
}
