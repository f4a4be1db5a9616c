// NPB FT: a partial differential equation, dv/dt = alpha laplace(v), solved on a periodic cube by Fourier
// transforms. Source: Bailey et al., RNR-94-007 (1994), section 2.3.4.
//
// The arrays are those of the benchmark's MPI version: u0 is the transform of the state, u1 the state's at the
// time of the iteration, u2 the state itself, twiddle the factors by which u0 decays in an iteration. The phases
// of an iteration are evolve, the inverse transform's three passes fft.3, fft.2, fft.1, and checksum.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <span>
#include <string>

#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/npb.hpp"
#include "common/threads.hpp"
#include "ft/checksums.hpp"
#include "ft/fft.hpp"

namespace ft {

struct Problem {
  char name;
  Shape shape;
  std::span<const Complex> checksums;  // one for each official iteration
};

constexpr Problem k_problems[] = {{'S', {{64, 64, 64}}, k_checksums_s},
                                  {'W', {{128, 128, 32}}, k_checksums_w},
                                  {'A', {{256, 256, 128}}, k_checksums_a},
                                  {'B', {{512, 256, 256}}, k_checksums_b},
                                  {'C', {{512, 512, 512}}, k_checksums_c}};

const Problem& problem_of(char problem_class) {
  return *std::find_if(std::begin(k_problems), std::end(k_problems),
                       [&](const Problem& problem) { return problem.name == problem_class; });
}

std::uint64_t iterations_of(char problem_class) { return problem_of(problem_class).checksums.size(); }

/// The square of a wave number: indices above half of `n` stand for negative ones.
double wave_square(std::uint64_t index, std::uint64_t n) {
  const double wave = static_cast<double>(index < n / 2 ? index : n - index);
  return wave * wave;
}

// The kernels are never inlined, so that each keeps its name at run time.

/// How a wave decays in an iteration.
[[gnu::noinline]] void fill_twiddle(const Shape& shape, std::vector<double>& twiddle) {
  constexpr double k_alpha = 1e-6;
  constexpr double k_exponent = -4.0 * k_alpha * std::numbers::pi * std::numbers::pi;
#pragma omp parallel for schedule(static)
  for (std::uint64_t i3 = 0; i3 < shape.n[2]; ++i3) {
    for (std::uint64_t i2 = 0; i2 < shape.n[1]; ++i2) {
      const double others = wave_square(i3, shape.n[2]) + wave_square(i2, shape.n[1]);
      double* const line = twiddle.data() + i3 * shape.stride(2) + i2 * shape.stride(1);
      for (std::uint64_t i1 = 0; i1 < shape.n[0]; ++i1) {
        line[i1] = std::exp(k_exponent * (others + wave_square(i1, shape.n[0])));
      }
    }
  }
}

[[gnu::noinline]] void fill_random(Field& field) {
  workloads::NpbRandom random;
  for (Complex& value : field) {
    value.re = random.next();
    value.im = random.next();
  }
}

/// u1 = u0 = u0 decayed once more.
[[gnu::noinline]] void evolve(const std::vector<double>& twiddle, Field& u0, Field& u1) {
  const std::uint64_t points = u0.size();
#pragma omp parallel for schedule(static)
  for (std::uint64_t i = 0; i < points; ++i) {
    u0[i] = twiddle[i] * u0[i];
    u1[i] = u0[i];
  }
}

/// The sum over 1024 points of the state, which the inverse transform left without its factor.
[[gnu::noinline]] Complex checksum(const Shape& shape, const Field& u2) {
  double re = 0.0;
  double im = 0.0;
#pragma omp parallel for schedule(static) reduction(+ : re, im)
  for (std::uint64_t j = 1; j <= 1024; ++j) {
    const Complex value =
        u2[j % shape.n[0] + 3 * j % shape.n[1] * shape.stride(1) + 5 * j % shape.n[2] * shape.stride(2)];
    re += value.re;
    im += value.im;
  }
  return 1.0 / static_cast<double>(shape.points()) * Complex{re, im};
}

/// Compares a part of a checksum with the official value.
struct Compared {
  double value;
  double reference;

  double error() const { return std::abs(value / reference - 1.0); }
};

/// Prints the checksums; returns the part that is furthest from its official value. What is not a number is
/// furthest.
Compared compare(const Problem& problem, const std::vector<Complex>& checksums) {
  Compared worst{1.0, 1.0};
  for (std::size_t i = 0; i < checksums.size(); ++i) {
    const Complex sum = checksums[i];
    std::printf(" Checksum %-6zu = %24.15E %24.15E\n", i + 1, sum.re, sum.im);
    if (i >= problem.checksums.size()) continue;
    const Complex right = problem.checksums[i];
    for (const Compared part : {Compared{sum.re, right.re}, Compared{sum.im, right.im}}) {
      if (!std::isnan(worst.value) && !(part.error() <= worst.error())) worst = part;
    }
  }
  return worst;
}

/// As the benchmark counts them.
double operations(const Shape& shape, std::uint64_t iterations) {
  const double points = static_cast<double>(shape.points());
  const double logarithm = std::log(points);
  return points *
         (14.8157 + 7.19641 * logarithm + (5.23518 + 7.21113 * logarithm) * static_cast<double>(iterations));
}

std::string size_of(const Shape& shape) {
  return std::to_string(shape.n[0]) + "x" + std::to_string(shape.n[1]) + "x" + std::to_string(shape.n[2]);
}

int run(const workloads::NpbArguments& arguments) {
  const Problem& problem = problem_of(arguments.problem_class);
  const Shape& shape = problem.shape;
  Field u0(shape.points());
  Field u1(shape.points());
  Field u2(shape.points());
  std::vector<double> twiddle(shape.points());
  Plan plan(shape, workloads::thread_count());
  std::vector<Complex> checksums(arguments.iterations);

  // The benchmark's clock runs from here.
  const double begin = workloads::seconds();
  fill_twiddle(shape, twiddle);
  fill_random(u1);
  plan.transform(0, Direction::forward, u1, u1);
  plan.transform(1, Direction::forward, u1, u1);
  plan.transform(2, Direction::forward, u1, u0);
  workloads::loop_begin("main");
  for (std::uint64_t iteration = 0; iteration < arguments.iterations; ++iteration) {
    workloads::phase("evolve");
    evolve(twiddle, u0, u1);
    workloads::phase("fft.3");
    plan.transform(2, Direction::inverse, u1, u1);
    workloads::phase("fft.2");
    plan.transform(1, Direction::inverse, u1, u1);
    workloads::phase("fft.1");
    plan.transform(0, Direction::inverse, u1, u2);
    workloads::phase("checksum");
    checksums[iteration] = checksum(shape, u2);
  }
  workloads::loop_end();
  const double end = workloads::seconds();

  const Compared worst = compare(problem, checksums);
  return workloads::report({.name = "FT",
                            .problem_class = problem.name,
                            .size = size_of(shape),
                            .iterations = arguments.iterations,
                            .official_iterations = problem.checksums.size(),
                            .seconds = end - begin,
                            .operations = operations(shape, arguments.iterations),
                            .quantity = "Worst of these",
                            .value = worst.value,
                            .reference = worst.reference,
                            .tolerance = 1e-12});
}

}  // namespace ft

int main(int argc, char** argv) {
  return ft::run(workloads::parse_npb_arguments(
      argc, argv, "ft", "NPB FT: a differential equation by Fourier transforms of a cube", ft::iterations_of));
}
