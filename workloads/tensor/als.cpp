// Implements tensor's factorisation. Sums over all rows are taken block by block, the blocks in order, so they
// do not depend on the number of threads. Kernels are never inlined, so that each keeps its name at run time.
#include "tensor/als.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/random.hpp"

namespace tensor {
namespace {

constexpr std::uint64_t k_rows = 512;  // in a block

std::uint64_t blocks_of(std::uint64_t rows) { return (rows + k_rows - 1) / k_rows; }

/// Adds up what `add(row, sums)` adds to `count` sums for each row; the sums of all blocks of rows lie in `sums`,
/// and the result in its first ones.
template <typename Add>
void sum_rows(std::uint64_t rows, std::uint64_t count, std::vector<double>& sums, const Add& add) {
  const std::uint64_t blocks = blocks_of(rows);
#pragma omp parallel for schedule(static)
  for (std::uint64_t block = 0; block < blocks; ++block) {
    double* const own = sums.data() + block * count;
    std::fill_n(own, count, 0.0);
    const std::uint64_t end = std::min((block + 1) * k_rows, rows);
    for (std::uint64_t row = block * k_rows; row < end; ++row) add(row, own);
  }
  for (std::uint64_t block = 1; block < blocks; ++block) {
    for (std::uint64_t i = 0; i < count; ++i) sums[i] += sums[block * count + i];
  }
}

/// The lower triangle of L L^T = a, in place: a is symmetric and positive definite.
void cholesky(std::vector<double>& a, std::uint64_t n) {
  for (std::uint64_t j = 0; j < n; ++j) {
    for (std::uint64_t i = j; i < n; ++i) {
      double sum = a[i * n + j];
      for (std::uint64_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = i == j ? std::sqrt(sum) : sum / a[j * n + j];
    }
  }
}

/// Solves L L^T x = b.
void substitute(const std::vector<double>& l, std::uint64_t n, const double* b, double* x) {
  for (std::uint64_t i = 0; i < n; ++i) {
    double sum = b[i];
    for (std::uint64_t k = 0; k < i; ++k) sum -= l[i * n + k] * x[k];
    x[i] = sum / l[i * n + i];
  }
  for (std::uint64_t i = n; i-- > 0;) {
    double sum = x[i];
    for (std::uint64_t k = i + 1; k < n; ++k) sum -= l[k * n + i] * x[k];
    x[i] = sum / l[i * n + i];
  }
}

}  // namespace

// The vectors here and below get their sizes in lines of their own, by which profiles tell them apart.
Slices::Slices(const Planted& planted, int mode) {
  start.resize(planted.sides[mode] + 1);
  row_after.resize(planted.elements.size());
  row_before.resize(planted.elements.size());
  value.resize(planted.elements.size());
  for (const Element& element : planted.elements) ++start[element.at[mode] + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<std::uint64_t> next(start.begin(), start.end() - 1);
  for (const Element& element : planted.elements) {
    const std::uint64_t place = next[element.at[mode]]++;
    row_after[place] = element.at[after(mode)];
    row_before[place] = element.at[before(mode)];
    value[place] = element.value;
  }
}

Model::Model(const Planted& planted, std::uint64_t seed) : sides_(planted.sides), rank_(planted.rank) {
  factor_[0].resize(sides_[0] * rank_);
  factor_[1].resize(sides_[1] * rank_);
  factor_[2].resize(sides_[2] * rank_);
  product_.resize(*std::max_element(sides_.begin(), sides_.end()) * rank_);
  sums_.resize(blocks_of(*std::max_element(sides_.begin(), sides_.end())) * rank_ * rank_);
  weight_.resize(rank_);
  std::uint64_t drawn = 0;
  for (int mode = 0; mode < 3; ++mode) {
    const Factor& truth = planted.factors[mode];
    const double squares = std::inner_product(truth.begin(), truth.end(), truth.begin(), 0.0);
    // Noise in [-x, x) has squares of x^2 / 3 in the mean.
    const double most = std::sqrt(3.0 * squares / static_cast<double>(truth.size()));
    for (std::uint64_t i = 0; i < truth.size(); ++i) {
      const double noise = 2.0 * workloads::fraction(workloads::random_at(seed, drawn++)) - 1.0;
      factor_[mode][i] = truth[i] + most * noise;
    }
    gram_[mode].resize(rank_ * rank_);
    normalise(mode);
  }
}

/// Slices differ in length by orders of magnitude, so threads take them as they come.
[[gnu::noinline]] void Model::mttkrp(int mode, const Slices& slices) {
  const std::uint64_t rank = rank_;
  const std::uint64_t rows = sides_[mode];
  const double* const factor_after = factor_[after(mode)].data();
  const double* const factor_before = factor_[before(mode)].data();
#pragma omp parallel for schedule(dynamic, 64)
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::array<double, k_max_rank> sum{};
    for (std::uint64_t e = slices.start[row]; e < slices.start[row + 1]; ++e) {
      const double value = slices.value[e];
      const double* const a = factor_after + slices.row_after[e] * rank;
      const double* const b = factor_before + slices.row_before[e] * rank;
      for (std::uint64_t r = 0; r < rank; ++r) sum[r] += value * a[r] * b[r];
    }
    std::copy_n(sum.data(), rank, product_.data() + row * rank);
  }
}

/// The products, element by element, of the other modes' grams.
Model::Square Model::hadamard(int mode) const {
  Square result(rank_ * rank_);
  for (std::uint64_t i = 0; i < result.size(); ++i) result[i] = gram_[after(mode)][i] * gram_[before(mode)][i];
  return result;
}

[[gnu::noinline]] void Model::solve(int mode) {
  const std::uint64_t rank = rank_;
  const std::uint64_t rows = sides_[mode];
  Square lower = hadamard(mode);
  cholesky(lower, rank);
#pragma omp parallel for schedule(static)
  for (std::uint64_t row = 0; row < rows; ++row) {
    substitute(lower, rank, product_.data() + row * rank, factor_[mode].data() + row * rank);
  }
  normalise(mode);
}

/// Finds the gram of a factor, and brings its columns to length 1; their lengths are the weights.
[[gnu::noinline]] void Model::normalise(int mode) {
  const std::uint64_t rank = rank_;
  const std::uint64_t rows = sides_[mode];
  Factor& factor = factor_[mode];
  sum_rows(rows, rank * rank, sums_, [&](std::uint64_t row, double* sums) {
    const double* const x = factor.data() + row * rank;
    for (std::uint64_t r = 0; r < rank; ++r) {
      for (std::uint64_t s = 0; s < rank; ++s) sums[r * rank + s] += x[r] * x[s];
    }
  });
  for (std::uint64_t r = 0; r < rank; ++r) weight_[r] = std::sqrt(sums_[r * rank + r]);
  for (std::uint64_t r = 0; r < rank; ++r) {
    for (std::uint64_t s = 0; s < rank; ++s) {
      gram_[mode][r * rank + s] = sums_[r * rank + s] / (weight_[r] * weight_[s]);
    }
  }
#pragma omp parallel for schedule(static)
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (std::uint64_t r = 0; r < rank; ++r) factor[row * rank + r] /= weight_[r];
  }
}

// || X - M ||^2 = || X ||^2 - 2 X.M + || M ||^2, where the product of the last mode already has most of X.M.
[[gnu::noinline]] double Model::fit(double squares) {
  const std::uint64_t rank = rank_;
  const Factor& last = factor_[2];
  sum_rows(sides_[2], rank, sums_, [&](std::uint64_t row, double* sums) {
    for (std::uint64_t r = 0; r < rank; ++r) sums[r] += product_[row * rank + r] * last[row * rank + r];
  });
  double inner = 0.0;
  for (std::uint64_t r = 0; r < rank; ++r) inner += weight_[r] * sums_[r];
  const Square others = hadamard(2);
  double own = 0.0;
  for (std::uint64_t r = 0; r < rank; ++r) {
    for (std::uint64_t s = 0; s < rank; ++s) {
      own += weight_[r] * weight_[s] * others[r * rank + s] * gram_[2][r * rank + s];
    }
  }
  return 1.0 - std::sqrt((squares - 2.0 * inner + own) / squares);
}

}  // namespace tensor
