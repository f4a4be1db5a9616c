// NPB FT: a partial differential equation, dv/dt = alpha laplace(v), solved on a periodic cube by Fourier
// transforms. Source: Bailey et al., RNR-94-007 (1994), section 2.3.4.
//
// The arrays are those of the benchmark's MPI version: u0 is the transform of the state, u1 the state's at the
// time of the iteration, u2 the state itself, twiddle the factors by which u0 decays in an iteration. The phases
// of an iteration are evolve, the inverse transform's three passes fft.3, fft.2, fft.1, and checksum.
#include <vector>

#include "common/clock.hpp"
#include "common/markers.hpp"
#include "common/npb.hpp"
#include "common/threads.hpp"
#include "ft/fft.hpp"
#include "ft/kernels.hpp"
#include "ft/problems.hpp"

namespace ft {

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
  fill_twiddle(shape, {0, shape.n[1]}, twiddle);
  fill_random(0, u1);
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
    checksums[iteration] = checksum(shape, {0, shape.n[2]}, u2);
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
