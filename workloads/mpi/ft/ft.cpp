// SPDX-License-Identifier: Apache-2.0
// NPB FT on several ranks: a partial differential equation, dv/dt = alpha laplace(v), solved on a periodic cube by
// Fourier transforms. Source: Bailey et al., RNR-94-007 (1994), section 2.3.4; decomposition and messages as in
// NPB's MPI version in slabs.
//
// The state is in slabs of planes (third index), its transform in slabs of lines (second index), so that the
// transforms along the first two dimensions and along the third are local. MPI_Alltoall transposes between them,
// once an iteration. The arrays are the benchmark's: u0 is the transform of the state, u1 the state's at the time
// of the iteration, u2 the state itself, twiddle the factors by which u0 decays in an iteration.
#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/npb.hpp"
#include "ft/fft.hpp"
#include "ft/kernels.hpp"
#include "ft/problems.hpp"
#include "mpi/common/environment.hpp"

namespace ft {

/// Transforms a cube that is distributed in slabs over the ranks, by way of a buffer of a slab's size.
class DistributedTransform {
 public:
  /// Requires: `ranks` divides the points along the second and the third dimension.
  DistributedTransform(const Shape& shape, int ranks)
      : ranks_(static_cast<std::uint64_t>(ranks)),
        planes_{{shape.n[0], shape.n[1], shape.n[2] / ranks_}},
        lines_{{shape.n[0], shape.n[1] / ranks_, shape.n[2]}},
        along_planes_(planes_, 1),
        along_lines_(lines_, 1),
        buffer_(planes_.points()) {}

  /// Transforms `from` (planes), which is overwritten, into `to` (lines).
  void forward(Field& from, Field& to) {
    along_planes_.transform(0, Direction::forward, from, from);
    along_planes_.transform(1, Direction::forward, from, from);
    for_runs([&](Complex* in_planes, Complex* in_parts) { std::copy_n(in_planes, run(), in_parts); }, from);
    exchange(buffer_, to);
    along_lines_.transform(2, Direction::forward, to, to);
  }

  /// Transforms `from` (lines), which is overwritten, into `to` (planes).
  void inverse(Field& from, Field& to) {
    along_lines_.transform(2, Direction::inverse, from, from);
    exchange(from, buffer_);
    for_runs([&](Complex* in_planes, Complex* in_parts) { std::copy_n(in_parts, run(), in_planes); }, to);
    along_planes_.transform(1, Direction::inverse, to, to);
    along_planes_.transform(0, Direction::inverse, to, to);
  }

 private:
  /// Returns the points that follow one another both in planes and in the parts that ranks exchange.
  std::uint64_t run() const { return lines_.n[0] * lines_.n[1]; }

  /// Calls copy(in_planes, in_parts) for each run of points: a plane's lines that belong to one rank's slab. In
  /// lines, each rank's part has the planes in order, so that parts in the order of ranks are the slab.
  template <typename Copy>
  void for_runs(Copy copy, Field& planes) {
    Complex* in_parts = buffer_.data();
    for (std::uint64_t rank = 0; rank < ranks_; ++rank) {
      for (std::uint64_t plane = 0; plane < planes_.n[2]; ++plane, in_parts += run())
        copy(planes.data() + plane * planes_.stride(2) + rank * run(), in_parts);
    }
  }

  /// Sends each rank its part of `from`, and receives the parts of `to`.
  void exchange(const Field& from, Field& to) const {
    const auto doubles = static_cast<int>(2 * from.size() / ranks_);
    MPI_Alltoall(from.data(), doubles, MPI_DOUBLE, to.data(), doubles, MPI_DOUBLE, MPI_COMM_WORLD);
  }

  std::uint64_t ranks_;
  Shape planes_, lines_;  // of a rank's slabs
  Plan along_planes_, along_lines_;
  Field buffer_;
};

/// Returns on rank 0 the checksum of the whole state.
Complex sum_of_ranks(Complex part) {
  Complex sum{};
  MPI_Reduce(&part, &sum, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  return sum;
}

int run(const workloads::MpiEnvironment& mpi, const Problem& problem, std::uint64_t iterations) {
  const Shape& shape = problem.shape;
  const auto range = [&](int dimension) {
    const std::uint64_t size = shape.n[dimension] / static_cast<std::uint64_t>(mpi.size());
    const std::uint64_t begin = size * static_cast<std::uint64_t>(mpi.rank());
    return Range{begin, begin + size};
  };
  const Range lines = range(1);
  const Range planes = range(2);
  const std::uint64_t points = shape.points() / static_cast<std::uint64_t>(mpi.size());
  Field u0(points);
  Field u1(points);
  Field u2(points);
  std::vector<double> twiddle(points);
  DistributedTransform transform(shape, mpi.size());
  std::vector<Complex> checksums(iterations);

  // The benchmark's clock runs from here.
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = workloads::seconds();
  fill_twiddle(shape, lines, twiddle);
  fill_random(planes.begin * shape.stride(2), u1);
  transform.forward(u1, u0);
  for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
    evolve(twiddle, u0, u1);
    transform.inverse(u1, u2);
    checksums[iteration] = sum_of_ranks(checksum(shape, planes, u2));
  }
  const double seconds = workloads::max_of_ranks(workloads::seconds() - begin);
  if (!mpi.prints()) return 0;
  const Compared worst = compare(problem, checksums);
  return workloads::report({.name = "FT",
                            .problem_class = problem.name,
                            .size = size_of(shape),
                            .iterations = iterations,
                            .official_iterations = problem.checksums.size(),
                            .seconds = seconds,
                            .operations = operations(shape, iterations),
                            .quantity = "Worst of these",
                            .value = worst.value,
                            .reference = worst.reference,
                            .tolerance = 1e-12});
}

}  // namespace ft

int main(int argc, char** argv) {
  const workloads::MpiEnvironment mpi(&argc, &argv);
  const auto arguments = workloads::parse_npb_arguments(
      argc, argv, "ft", "NPB FT on MPI ranks, whose number is a power of two, at most that of lines and of planes",
      ft::iterations_of, mpi.prints());
  const ft::Problem& problem = ft::problem_of(arguments.problem_class);
  const std::uint64_t max_ranks = std::min(problem.shape.n[1], problem.shape.n[2]);
  const auto ranks = static_cast<std::uint64_t>(mpi.size());
  if (!std::has_single_bit(ranks) || ranks > max_ranks)
    mpi.fail("ft", std::to_string(ranks) + " ranks: a power of two of at most " + std::to_string(max_ranks) +
                       " is required in class " + problem.name);
  return mpi.exit_status(ft::run(mpi, problem, arguments.iterations));
}
