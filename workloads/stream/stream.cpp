// STREAM: the bandwidth of four vector kernels. Source: J. D. McCalpin, "Memory bandwidth and machine balance
// in current high performance computers", IEEE TCCA newsletter (1995); bytes are counted as defined there
// (what the program reads and writes, without what a cache fetches in order to write).
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/options.hpp"
#include "common/threads.hpp"
#include "common/verdict.hpp"

namespace stream {

using Vector = std::vector<double>;

constexpr double k_scalar = 3.0;

// The kernels are never inlined, so that each keeps its name at run time.

[[gnu::noinline]] void copy(const Vector& a, Vector& c) {
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < a.size(); ++i) c[i] = a[i];
}

[[gnu::noinline]] void scale(const Vector& c, Vector& b) {
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < c.size(); ++i) b[i] = k_scalar * c[i];
}

[[gnu::noinline]] void add(const Vector& a, const Vector& b, Vector& c) {
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < a.size(); ++i) c[i] = a[i] + b[i];
}

[[gnu::noinline]] void triad(const Vector& b, const Vector& c, Vector& a) {
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < b.size(); ++i) a[i] = b[i] + k_scalar * c[i];
}

/// The times of one kernel over the repetitions. The first warms up and is not counted, unless it is the only one.
struct Kernel {
  const char* name;
  int arrays;  // read or written, which is how many words move for each element
  std::vector<double> times = {};

  double bytes(std::size_t elements) const {
    return arrays * static_cast<double>(elements) * static_cast<double>(sizeof(double));
  }

  /// Reads each time once, whatever it is: an element that was kept as the best so far would be read again, and
  /// what the program does would depend on its clock.
  void print(std::size_t elements) const {
    const auto first = times.begin() + (times.size() > 1 ? 1 : 0);
    double sum = 0;
    double best = *first;
    double worst = *first;
    for (auto at = first; at != times.end(); ++at) {
      const double time = *at;
      sum += time;
      best = time < best ? time : best;
      worst = time > worst ? time : worst;
    }
    std::printf("%-8s %18.0f %14.9f %14.9f %14.9f\n", name, bytes(elements) / best,
                sum / static_cast<double>(times.end() - first), best, worst);
  }
};

/// Whether every element of `array` is `expected`, to rounding; prints the mean relative error otherwise.
bool holds(const char* name, const Vector& array, double expected) {
  double error = 0;
  for (const double element : array) error += std::abs(element - expected);
  error /= static_cast<double>(array.size()) * std::abs(expected);
  constexpr double k_tolerance = 1e-13;
  if (error <= k_tolerance) return true;
  std::printf("Array %s: expected %.15g, mean relative error %.3e\n", name, expected, error);
  return false;
}

/// Compares the arrays after `repetitions` with the values computed for one element.
bool verify(const Vector& a, const Vector& b, const Vector& c, std::uint64_t repetitions) {
  double expected_a = 1.0;
  double expected_b = 2.0;
  double expected_c = 0.0;
  for (std::uint64_t repetition = 0; repetition < repetitions; ++repetition) {
    expected_c = expected_a;
    expected_b = k_scalar * expected_c;
    expected_c = expected_a + expected_b;
    expected_a = expected_b + k_scalar * expected_c;
  }
  const bool a_holds = holds("a", a, expected_a);
  const bool b_holds = holds("b", b, expected_b);
  return holds("c", c, expected_c) && a_holds && b_holds;
}

/// Runs `body` as the phase of `kernel` and keeps its time.
template <typename Body>
void timed(Kernel& kernel, const Body& body) {
  workloads::phase(kernel.name);
  const double begin = workloads::seconds();
  body();
  kernel.times.push_back(workloads::seconds() - begin);
}

int run(std::size_t elements, std::uint64_t repetitions) {
  Vector a(elements, 1.0);
  Vector b(elements, 2.0);
  Vector c(elements, 0.0);
  std::array<Kernel, 4> kernels{{{"copy", 2}, {"scale", 2}, {"add", 3}, {"triad", 3}}};

  const double begin = workloads::seconds();
  workloads::loop_begin("main");
  for (std::uint64_t repetition = 0; repetition < repetitions; ++repetition) {
    timed(kernels[0], [&] { copy(a, c); });
    timed(kernels[1], [&] { scale(c, b); });
    timed(kernels[2], [&] { add(a, b, c); });
    timed(kernels[3], [&] { triad(b, c, a); });
  }
  workloads::loop_end();
  const double end = workloads::seconds();

  std::printf("STREAM: 3 arrays of %zu bytes, %llu repetitions\n", elements * sizeof(double),
              static_cast<unsigned long long>(repetitions));
  std::printf("%-8s %18s %14s %14s %14s\n", "kernel", "best rate [B/s]", "average [s]", "minimum [s]",
              "maximum [s]");
  for (const Kernel& kernel : kernels) kernel.print(elements);
  std::printf("Time %14.9f s\n", end - begin);
  const bool verified = verify(a, b, c, repetitions);
  return workloads::verdict(verified);
}

}  // namespace stream

int main(int argc, char** argv) {
  std::uint64_t size = std::uint64_t{64} << 20;
  std::uint64_t repetitions = 10;
  workloads::Options options("stream", "STREAM: bandwidth of copy, scale, add and triad");
  options.bytes("--size", &size, "size of each of the three arrays");
  options.count("--repetitions", &repetitions,
                "repetitions of the four kernels, up to 250; the first is not timed");
  std::uint64_t threads = 1;
  workloads::declare_threads(options, &threads);
  options.parse(argc, argv);
  workloads::use_threads(options, threads);
  if (size < sizeof(double)) options.fail("--size: at least 8 bytes");
  // The values grow 15-fold with each repetition and would overflow.
  if (repetitions > 250) options.fail("--repetitions: at most 250, else the arrays' values overflow");
  return stream::run(size / sizeof(double), repetitions);
}
