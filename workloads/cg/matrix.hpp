// Declares the sparse matrix of NPB CG: symmetric, positive definite before the shift, with a random pattern.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cg {

/// Compressed sparse rows: row i's elements are those with numbers [rowstr[i], rowstr[i+1]).
struct Matrix {
  std::vector<double> a;
  std::vector<std::int32_t> colidx;
  std::vector<std::int32_t> rowstr;

  std::size_t rows() const { return rowstr.size() - 1; }
};

/// Parameters of a matrix: its order, the nonzeros in each generating vector, and the shift of the diagonal.
struct MatrixShape {
  std::int32_t order;
  std::int32_t nonzeros;
  double shift;
};

/// Rows [first_row, end_row) and columns [first_column, end_column) of a matrix.
struct MatrixBlock {
  std::int32_t first_row;
  std::int32_t end_row;
  std::int32_t first_column;
  std::int32_t end_column;
};

/// Returns a block, with rows and columns counted from its first ones, of the matrix
/// sum_i w_i x_i x_i' + (0.1 - shift) I, with w_i falling geometrically from 1 to 0.1 and x_i a random sparse
/// vector whose element i is 0.5.
Matrix make_matrix(const MatrixShape& shape, const MatrixBlock& block);

/// Returns the whole matrix.
inline Matrix make_matrix(const MatrixShape& shape) {
  return make_matrix(shape, {0, shape.order, 0, shape.order});
}

/// Computes y = A x.
void multiply(const Matrix& matrix, const std::vector<double>& x, std::vector<double>& y);

}  // namespace cg
