// Generates the matrix of NPB CG, and multiplies by it. Source: RNR-94-007, section 2.3.3 ("the vectors and the
// matrix").
//
// The sum of outer products is formed a row at a time: row j gathers w_i x_i[j] x_i over all i with x_i[j]
// not zero. A first pass over the patterns counts, so that the arrays get their exact size.
#include "cg/matrix.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/npb.hpp"

namespace cg {
namespace {

constexpr double k_condition = 0.1;  // reciprocal of the condition number before the shift

/// All generating vectors, one after the other.
struct SparseVectors {
  std::vector<std::int32_t> start;  // vector i: elements [start[i], start[i+1])
  std::vector<std::int32_t> index;
  std::vector<double> value;
};

/// Draws the vectors: each has `nonzeros` random elements at distinct random indices, and 0.5 at its own.
SparseVectors draw_vectors(std::int32_t order, std::int32_t nonzeros) {
  workloads::NpbRandom random;
  random.next();  // the benchmark draws one number before the vectors
  // An index is drawn from the power of two at or above the order and drawn again if it is too large.
  const double span = std::bit_ceil(static_cast<std::uint32_t>(order));

  SparseVectors vectors;
  const auto capacity = static_cast<std::size_t>(order) * static_cast<std::size_t>(nonzeros + 1);
  vectors.start.reserve(static_cast<std::size_t>(order) + 1);
  vectors.index.reserve(capacity);
  vectors.value.reserve(capacity);
  vectors.start.push_back(0);
  for (std::int32_t i = 0; i < order; ++i) {
    const auto first = static_cast<std::ptrdiff_t>(vectors.index.size());
    const auto position = [&](std::int32_t index) {
      return std::find(vectors.index.begin() + first, vectors.index.end(), index);
    };
    while (static_cast<std::ptrdiff_t>(vectors.index.size()) - first < nonzeros) {
      const double value = random.next();
      const auto index = static_cast<std::int32_t>(span * random.next());
      if (index >= order || position(index) != vectors.index.end()) continue;
      vectors.index.push_back(index);
      vectors.value.push_back(value);
    }
    if (const auto own = position(i); own != vectors.index.end()) {
      vectors.value[static_cast<std::size_t>(own - vectors.index.begin())] = 0.5;
    } else {
      vectors.index.push_back(i);
      vectors.value.push_back(0.5);
    }
    vectors.start.push_back(static_cast<std::int32_t>(vectors.index.size()));
  }
  return vectors;
}

/// The vectors' transpose: for each row, which vectors have an element there, in ascending order, and which
/// element it is.
struct Transpose {
  std::vector<std::int32_t> start;
  std::vector<std::int32_t> vector;
  std::vector<std::int32_t> element;
};

Transpose transpose(const SparseVectors& vectors) {
  const std::size_t order = vectors.start.size() - 1;
  Transpose result;
  result.start.assign(order + 1, 0);
  for (const std::int32_t index : vectors.index) ++result.start[static_cast<std::size_t>(index) + 1];
  for (std::size_t i = 0; i < order; ++i) result.start[i + 1] += result.start[i];

  std::vector<std::int32_t> next(result.start.begin(), result.start.end() - 1);
  result.vector.resize(vectors.index.size());
  result.element.resize(vectors.index.size());
  for (std::size_t i = 0; i < order; ++i) {
    for (std::int32_t e = vectors.start[i]; e < vectors.start[i + 1]; ++e) {
      const auto slot = static_cast<std::size_t>(next[static_cast<std::size_t>(vectors.index[e])]++);
      result.vector[slot] = static_cast<std::int32_t>(i);
      result.element[slot] = e;
    }
  }
  return result;
}

/// Collects the block's columns of row `row`, in the order in which they are first met. seen[c] == row marks a
/// column taken.
void collect_columns(const SparseVectors& vectors, const Transpose& by_row, const MatrixBlock& block,
                     std::int32_t row, std::vector<std::int32_t>& seen, std::vector<std::int32_t>& columns) {
  columns.clear();
  for (std::int32_t t = by_row.start[row]; t < by_row.start[row + 1]; ++t) {
    const std::int32_t i = by_row.vector[t];
    for (std::int32_t e = vectors.start[i]; e < vectors.start[i + 1]; ++e) {
      const std::int32_t column = vectors.index[e];
      if (column < block.first_column || column >= block.end_column || seen[column] == row) continue;
      seen[column] = row;
      columns.push_back(column);
    }
  }
}

/// sums[c] = the sum over all vectors of weight x x' at (row, c).
void sum_row(const SparseVectors& vectors, const Transpose& by_row, const std::vector<double>& weight,
             std::int32_t row, std::vector<double>& sums) {
  for (std::int32_t t = by_row.start[row]; t < by_row.start[row + 1]; ++t) {
    const std::int32_t i = by_row.vector[t];
    const double scale = weight[i] * vectors.value[by_row.element[t]];
    for (std::int32_t e = vectors.start[i]; e < vectors.start[i + 1]; ++e) {
      sums[vectors.index[e]] += scale * vectors.value[e];
    }
  }
}

}  // namespace

Matrix make_matrix(const MatrixShape& shape, const MatrixBlock& block) {
  const SparseVectors vectors = draw_vectors(shape.order, shape.nonzeros);
  const Transpose by_row = transpose(vectors);
  const auto order = static_cast<std::size_t>(shape.order);

  std::vector<double> weight(order);
  const double ratio = std::pow(k_condition, 1.0 / shape.order);
  double w = 1.0;
  for (double& element : weight) {
    element = w;
    w *= ratio;
  }

  std::vector<std::int32_t> columns;
  std::vector<std::int32_t> seen(order, -1);
  Matrix matrix;
  matrix.rowstr.reserve(static_cast<std::size_t>(block.end_row - block.first_row) + 1);
  matrix.rowstr.push_back(0);
  for (std::int32_t row = block.first_row; row < block.end_row; ++row) {
    collect_columns(vectors, by_row, block, row, seen, columns);
    matrix.rowstr.push_back(matrix.rowstr.back() + static_cast<std::int32_t>(columns.size()));
  }

  const auto nonzeros = static_cast<std::size_t>(matrix.rowstr.back());
  matrix.a.resize(nonzeros);
  matrix.colidx.resize(nonzeros);
  std::fill(seen.begin(), seen.end(), -1);
  std::vector<double> sums(order, 0.0);
  std::size_t slot = 0;
  for (std::int32_t row = block.first_row; row < block.end_row; ++row) {
    collect_columns(vectors, by_row, block, row, seen, columns);
    std::sort(columns.begin(), columns.end());
    for (const std::int32_t column : columns) sums[column] = 0.0;
    sum_row(vectors, by_row, weight, row, sums);
    sums[row] += k_condition - shape.shift;
    for (const std::int32_t column : columns) {
      matrix.a[slot] = sums[column];
      matrix.colidx[slot] = column - block.first_column;
      ++slot;
    }
  }
  return matrix;
}

// Never inlined, so that it keeps its name at run time.
[[gnu::noinline]] void multiply(const Matrix& matrix, const std::vector<double>& x, std::vector<double>& y) {
  const double* const a = matrix.a.data();
  const std::int32_t* const colidx = matrix.colidx.data();
#pragma omp parallel for schedule(static)
  for (std::size_t row = 0; row < matrix.rows(); ++row) {
    double sum = 0.0;
    for (std::int32_t k = matrix.rowstr[row]; k < matrix.rowstr[row + 1]; ++k) sum += a[k] * x[colidx[k]];
    y[row] = sum;
  }
}

}  // namespace cg
