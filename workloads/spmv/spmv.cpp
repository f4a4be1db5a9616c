// SpMV: a sparse matrix with power-law rows (rmat.hpp), in compressed rows, times a vector, again and again as in
// the power method: y = A x, then x = y / max y. All elements are positive, so nothing cancels; the maximum is the
// same in any order, so the result does not depend on the number of threads.
//
// It is verified against the same steps done on the elements as they were drawn, one by one.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/options.hpp"
#include "common/rmat.hpp"
#include "common/threads.hpp"
#include "common/verdict.hpp"

namespace spmv {

using Vector = std::vector<double>;

struct Settings {
  std::uint64_t scale = 16;
  std::uint64_t per_row = 16;
  std::uint64_t iterations = 10;
  std::uint64_t seed = 1;
  std::uint64_t threads = 1;
};

/// One element; a place may be named more than once, and its elements then add up.
struct Element {
  std::uint32_t row;
  std::uint32_t column;
  double value;
};

/// `per_row` * 2^scale elements of a matrix of order 2^scale, in random order, with values in [0.5, 1).
std::vector<Element> make_elements(const Settings& settings) {
  workloads::Rmat places(settings.scale, settings.seed);
  std::vector<Element> elements(settings.per_row << settings.scale);
  for (Element& element : elements) {
    const auto [row, column] = places.next();
    element = {row, column, 0.5 + 0.5 * places.fraction()};
  }
  return elements;
}

/// Compressed sparse rows: row i's elements are those with numbers [start[i], start[i+1]), by column.
struct Matrix {
  std::vector<std::uint64_t> start;
  std::vector<std::uint32_t> column;
  std::vector<double> value;

  std::uint64_t rows() const { return start.size() - 1; }
};

/// The order of the elements by `key`, those with the same key as `order` has them: a counting sort.
template <typename Key>
std::vector<std::uint32_t> sorted(const std::vector<std::uint32_t>& order, std::uint64_t keys, const Key& key) {
  std::vector<std::uint32_t> next(keys + 1);
  for (const std::uint32_t e : order) ++next[key(e) + 1];
  for (std::uint64_t k = 0; k < keys; ++k) next[k + 1] += next[k];
  std::vector<std::uint32_t> result(order.size());
  for (const std::uint32_t e : order) result[next[key(e)]++] = e;
  return result;
}

Matrix compress(const std::vector<Element>& elements, std::uint64_t rows) {
  std::vector<std::uint32_t> order(elements.size());
  for (std::uint32_t e = 0; e < order.size(); ++e) order[e] = e;
  order = sorted(order, rows, [&](std::uint32_t e) { return elements[e].column; });
  order = sorted(order, rows, [&](std::uint32_t e) { return elements[e].row; });

  Matrix matrix;
  matrix.start.resize(rows + 1);
  matrix.column.resize(elements.size());
  matrix.value.resize(elements.size());
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    const Element& element = elements[order[i]];
    ++matrix.start[element.row + 1];
    matrix.column[i] = element.column;
    matrix.value[i] = element.value;
  }
  for (std::uint64_t row = 0; row < rows; ++row) matrix.start[row + 1] += matrix.start[row];
  return matrix;
}

// The kernels are never inlined, so that each keeps its name at run time.

/// y = A x. Rows differ in length a thousandfold, so threads take them as they come.
[[gnu::noinline]] void multiply(const Matrix& matrix, const Vector& x, Vector& y) {
  const std::uint64_t rows = matrix.rows();
#pragma omp parallel for schedule(dynamic, 256)
  for (std::uint64_t row = 0; row < rows; ++row) {
    double sum = 0.0;
    for (std::uint64_t i = matrix.start[row]; i < matrix.start[row + 1]; ++i) {
      sum += matrix.value[i] * x[matrix.column[i]];
    }
    y[row] = sum;
  }
}

/// x = y / max y.
[[gnu::noinline]] void normalise(const Vector& y, Vector& x) {
  const std::uint64_t rows = y.size();
  double most = 0.0;
#pragma omp parallel for schedule(static) reduction(max : most)
  for (std::uint64_t row = 0; row < rows; ++row) most = std::max(most, y[row]);
#pragma omp parallel for schedule(static)
  for (std::uint64_t row = 0; row < rows; ++row) x[row] = y[row] / most;
}

/// Returns the expected x after all iterations, computed from the elements one by one.
Vector expected(const std::vector<Element>& elements, std::uint64_t rows, std::uint64_t iterations) {
  Vector x(rows, 1.0);
  Vector y(rows);
  for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
    std::fill(y.begin(), y.end(), 0.0);
    for (const Element& element : elements) y[element.row] += element.value * x[element.column];
    const double most = *std::max_element(y.begin(), y.end());
    for (std::uint64_t row = 0; row < rows; ++row) x[row] = y[row] / most;
  }
  return x;
}

/// The largest relative difference; elements that are to be 0 count as they are.
double error_of(const Vector& x, const Vector& right) {
  double error = 0.0;
  for (std::uint64_t row = 0; row < x.size(); ++row) {
    const double difference = std::abs(x[row] - right[row]) / (right[row] > 0.0 ? right[row] : 1.0);
    error = workloads::worse(error, difference);
  }
  return error;
}

int run(const Settings& settings) {
  const std::uint64_t rows = std::uint64_t{1} << settings.scale;
  const std::vector<Element> elements = make_elements(settings);
  const Matrix matrix = compress(elements, rows);
  Vector x(rows, 1.0);
  Vector y(rows);

  const double begin = workloads::seconds();
  workloads::loop_begin("main");
  for (std::uint64_t iteration = 0; iteration < settings.iterations; ++iteration) {
    workloads::phase("multiply");
    multiply(matrix, x, y);
    workloads::phase("normalise");
    normalise(y, x);
  }
  workloads::loop_end();
  const double end = workloads::seconds();

  std::uint64_t longest = 0;
  for (std::uint64_t row = 0; row < rows; ++row) {
    longest = std::max(longest, matrix.start[row + 1] - matrix.start[row]);
  }
  // Sums of at most `longest` positive terms, in another order, once an iteration.
  constexpr double k_tolerance = 1e-11;
  const double error = error_of(x, expected(elements, rows, settings.iterations));
  const bool verified = error <= k_tolerance;

  std::printf("SpMV: %llu rows, %zu elements, at most %llu in a row, %llu iterations\n",
              static_cast<unsigned long long>(rows), elements.size(), static_cast<unsigned long long>(longest),
              static_cast<unsigned long long>(settings.iterations));
  std::printf("Time %14.9f s %14.0f elements a second\n", end - begin,
              static_cast<double>(elements.size()) * static_cast<double>(settings.iterations) / (end - begin));
  std::printf("Largest relative error %.3e, tolerance %.0e\n", error, k_tolerance);
  return workloads::verdict(verified);
}

}  // namespace spmv

int main(int argc, char** argv) {
  spmv::Settings settings;
  workloads::Options options("spmv", "sparse matrix times vector, power-law rows");
  options.count("--scale", &settings.scale, "2^N rows, N up to 28");
  options.count("--per-row", &settings.per_row, "average number of elements per row");
  options.count("--iterations", &settings.iterations, "number of products");
  options.count("--seed", &settings.seed, "seed of the matrix");
  workloads::declare_threads(options, &settings.threads);
  options.parse(argc, argv);
  workloads::use_threads(options, settings.threads);
  if (settings.scale > 28) options.fail("--scale: at most 28");
  if (settings.per_row > 1024 || settings.per_row << settings.scale >= UINT32_MAX) {
    options.fail("--per-row: at most 1024, and fewer than 2^32 elements in all");
  }
  return spmv::run(settings);
}
