// Implements the steps of NPB FT between its transforms. The kernels are never inlined, so that each keeps its
// name at run time.
#include "ft/kernels.hpp"

#include <cmath>
#include <numbers>

#include "common/npb.hpp"

namespace ft {
namespace {

/// The square of a wave number: indices above half of `n` stand for negative ones.
double wave_square(std::uint64_t index, std::uint64_t n) {
  const double wave = static_cast<double>(index < n / 2 ? index : n - index);
  return wave * wave;
}

}  // namespace

[[gnu::noinline]] void fill_twiddle(const Shape& shape, const Range& lines, std::vector<double>& twiddle) {
  constexpr double k_alpha = 1e-6;
  constexpr double k_exponent = -4.0 * k_alpha * std::numbers::pi * std::numbers::pi;
#pragma omp parallel for schedule(static)
  for (std::uint64_t i3 = 0; i3 < shape.n[2]; ++i3) {
    for (std::uint64_t i2 = lines.begin; i2 < lines.end; ++i2) {
      const double others = wave_square(i3, shape.n[2]) + wave_square(i2, shape.n[1]);
      double* const line = twiddle.data() + (i3 * (lines.end - lines.begin) + i2 - lines.begin) * shape.n[0];
      for (std::uint64_t i1 = 0; i1 < shape.n[0]; ++i1) {
        line[i1] = std::exp(k_exponent * (others + wave_square(i1, shape.n[0])));
      }
    }
  }
}

[[gnu::noinline]] void fill_random(std::uint64_t first, Field& field) {
  workloads::NpbRandom random;
  random.skip(2 * first);
  for (Complex& value : field) {
    value.re = random.next();
    value.im = random.next();
  }
}

[[gnu::noinline]] void evolve(const std::vector<double>& twiddle, Field& u0, Field& u1) {
  const std::uint64_t points = u0.size();
#pragma omp parallel for schedule(static)
  for (std::uint64_t i = 0; i < points; ++i) {
    u0[i] = twiddle[i] * u0[i];
    u1[i] = u0[i];
  }
}

[[gnu::noinline]] Complex checksum(const Shape& shape, const Range& planes, const Field& u2) {
  double re = 0.0;
  double im = 0.0;
#pragma omp parallel for schedule(static) reduction(+ : re, im)
  for (std::uint64_t j = 1; j <= 1024; ++j) {
    const std::uint64_t plane = 5 * j % shape.n[2];
    if (plane < planes.begin || plane >= planes.end) continue;
    const Complex value =
        u2[j % shape.n[0] + 3 * j % shape.n[1] * shape.stride(1) + (plane - planes.begin) * shape.stride(2)];
    re += value.re;
    im += value.im;
  }
  return 1.0 / static_cast<double>(shape.points()) * Complex{re, im};
}

}  // namespace ft
