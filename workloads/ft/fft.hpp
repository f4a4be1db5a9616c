// Declares fast Fourier transforms along each dimension of NPB FT's cube of complex numbers.
// Source: Bailey et al., RNR-94-007 (1994), section 2.3.4; Stockham's algorithm as in Van Loan, "Computational
// Frameworks for the Fast Fourier Transform", SIAM 1992, section 1.7.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace ft {

/// std::complex asks after every product whether it is a number.
struct Complex {
  double re;
  double im;
};

inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
inline Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
inline Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
inline Complex operator*(double a, Complex b) { return {a * b.re, a * b.im}; }
inline Complex conjugate(Complex a) { return {a.re, -a.im}; }

using Field = std::vector<Complex>;

/// The points along each dimension, all powers of two; the first dimension is contiguous.
struct Shape {
  std::array<std::uint64_t, 3> n;

  std::uint64_t points() const { return n[0] * n[1] * n[2]; }
  /// How far apart neighbours along `dimension` (0, 1 or 2) lie.
  std::uint64_t stride(int dimension) const { return dimension == 0 ? 1 : dimension == 1 ? n[0] : n[0] * n[1]; }
};

enum class Direction { forward, inverse };

/// Tables and buffers of transforms of a shape: the roots of unity, and for each thread a block of lines
/// twice.
class Plan {
 public:
  Plan(const Shape& shape, std::uint64_t threads);

  /// Transforms all lines along `dimension` (0, 1 or 2) of `from` into `to`, which may be the same, without a
  /// factor.
  void transform(int dimension, Direction direction, const Field& from, Field& to);

 private:
  Complex* transform_block(std::uint64_t n, Direction direction, Complex* from, Complex* to) const;
  std::uint64_t block_size() const;

  Shape shape_;
  Field roots_;    // exp(2 pi i k / n) for k below half of the longest n
  Field scratch_;  // two blocks for each thread
};

}  // namespace ft
