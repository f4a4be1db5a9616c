// SPDX-License-Identifier: Apache-2.0
// A halo exchange: explicit Euler steps of the heat equation on a periodic square that is distributed in blocks
// over any number of ranks. Every 10th step reduces the sum of squares, every 25th gathers the state on rank 0, as
// output does.
//
// A step is four Irecv, four Isend, a Waitall, and the update by the 5-point stencil. The state begins as a plane
// wave, cos(x + 2 y), an eigenfunction of the step, so that each step multiplies it by a known factor: what is
// reduced, what is gathered and the final state are verified against that closed form.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "common/verdict.hpp"
#include "mpi/common/arguments.hpp"
#include "mpi/common/environment.hpp"

namespace halo {

constexpr std::uint64_t k_reduce_every = 10;
constexpr std::uint64_t k_gather_every = 25;
constexpr double k_step = 0.2;                   // time step over the square of the distance of points
constexpr int k_sides[] = {100, 500, 2000};      // points, by class
constexpr double k_tolerance_of_a_step = 1e-14;  // of values between -1 and 1; and of ten steps more

/// The plane wave that each step multiplies by factor().
struct Wave {
  double angle;  // between neighbouring points along x

  double phase(int y, int x) const { return std::cos(angle * (x + 2.0 * y)); }
  double factor() const { return 1.0 - 2.0 * k_step * (2.0 - std::cos(angle) - std::cos(2.0 * angle)); }
  double amplitude(std::uint64_t steps) const { return std::pow(factor(), static_cast<double>(steps)); }
};

struct Block {
  std::array<int, 2> first;  // y, x
  std::array<int, 2> size;

  int points() const { return size[0] * size[1]; }
};

/// This rank's block of the square, with a layer of ghost points.
class Field {
 public:
  Field(int side, int ranks) : side_(side) {
    MPI_Dims_create(ranks, 2, dims_.data());
    const int periods[2] = {1, 1};
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims_.data(), periods, 0, &ranks_);
    MPI_Comm_rank(ranks_, &rank_);
    block_ = block_of(rank_);
    pitch_ = block_.size[1] + 2;
    u_.resize(static_cast<std::size_t>(block_.size[0] + 2) * static_cast<std::size_t>(pitch_));
    next_.resize(u_.size());
    MPI_Cart_shift(ranks_, 0, 1, &neighbours_[0], &neighbours_[1]);
    MPI_Cart_shift(ranks_, 1, 1, &neighbours_[2], &neighbours_[3]);
    MPI_Type_vector(block_.size[0], 1, pitch_, MPI_DOUBLE, &column_);
    MPI_Type_commit(&column_);
  }
  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;
  ~Field() {
    MPI_Type_free(&column_);
    MPI_Comm_free(&ranks_);
  }

  void fill(const Wave& wave) {
    for (int y = 0; y < block_.size[0]; ++y)
      for (int x = 0; x < block_.size[1]; ++x) at(y, x) = wave.phase(block_.first[0] + y, block_.first[1] + x);
  }

  /// Fills the ghost points from the four neighbours, which may be this rank itself.
  void exchange() {
    const int height = block_.size[0];
    const int width = block_.size[1];
    std::array<MPI_Request, 8> requests;
    // A message's tag is the direction in which it goes, so that two messages between two ranks are told apart.
    MPI_Irecv(&at(-1, 0), width, MPI_DOUBLE, neighbours_[0], 1, ranks_, &requests[0]);
    MPI_Irecv(&at(height, 0), width, MPI_DOUBLE, neighbours_[1], 0, ranks_, &requests[1]);
    MPI_Irecv(&at(0, -1), 1, column_, neighbours_[2], 3, ranks_, &requests[2]);
    MPI_Irecv(&at(0, width), 1, column_, neighbours_[3], 2, ranks_, &requests[3]);
    MPI_Isend(&at(0, 0), width, MPI_DOUBLE, neighbours_[0], 0, ranks_, &requests[4]);
    MPI_Isend(&at(height - 1, 0), width, MPI_DOUBLE, neighbours_[1], 1, ranks_, &requests[5]);
    MPI_Isend(&at(0, 0), 1, column_, neighbours_[2], 2, ranks_, &requests[6]);
    MPI_Isend(&at(0, width - 1), 1, column_, neighbours_[3], 3, ranks_, &requests[7]);
    MPI_Waitall(8, requests.data(), MPI_STATUSES_IGNORE);
  }

  /// Makes a time step. Requires: the ghost points are up to date.
  void update() {
    for (int y = 0; y < block_.size[0]; ++y) {
      const double* const here = &at(y, 0);
      double* const result = next_.data() + (here - u_.data());
      for (int x = 0; x < block_.size[1]; ++x)
        result[x] =
            here[x] + k_step * (here[x - 1] + here[x + 1] + here[x - pitch_] + here[x + pitch_] - 4 * here[x]);
    }
    std::swap(u_, next_);
  }

  /// Returns the sum of squares of all ranks' points.
  double sum_of_squares() {
    double sum = 0.0;
    for (int y = 0; y < block_.size[0]; ++y)
      sum += std::inner_product(&at(y, 0), &at(y, 0) + block_.size[1], &at(y, 0), 0.0);
    return workloads::sum_of_ranks(sum);
  }

  /// Gathers the state on rank 0. Returns its largest error there, and 0 on other ranks.
  double gather(const Wave& wave, std::uint64_t steps) {
    int ranks = 0;
    MPI_Comm_size(ranks_, &ranks);
    std::vector<int> counts;
    std::vector<int> begins;
    for (int rank = 0, begin = 0; rank < ranks; begin += counts.back(), ++rank) {
      counts.push_back(block_of(rank).points());
      begins.push_back(begin);
    }
    std::vector<double> all(rank_ == 0 ? static_cast<std::size_t>(side_) * static_cast<std::size_t>(side_) : 0);
    const std::vector<double> own = interior();
    MPI_Gatherv(own.data(), block_.points(), MPI_DOUBLE, all.data(), counts.data(), begins.data(), MPI_DOUBLE, 0,
                ranks_);
    double worst = 0.0;
    for (int rank = 0; rank_ == 0 && rank < ranks; ++rank)
      worst = workloads::worse(worst, error(all.data() + begins[rank], block_of(rank), wave, steps));
    return worst;
  }

  /// Returns the largest error of this rank's points.
  double error(const Wave& wave, std::uint64_t steps) { return error(interior().data(), block_, wave, steps); }

 private:
  static double error(const double* values, const Block& block, const Wave& wave, std::uint64_t steps) {
    const double amplitude = wave.amplitude(steps);
    double worst = 0.0;
    for (int y = block.first[0]; y < block.first[0] + block.size[0]; ++y)
      for (int x = block.first[1]; x < block.first[1] + block.size[1]; ++x)
        worst = workloads::worse(worst, std::abs(*values++ - amplitude * wave.phase(y, x)));
    return worst;
  }

  Block block_of(int rank) const {
    std::array<int, 2> place;
    MPI_Cart_coords(ranks_, rank, 2, place.data());
    Block block;
    for (int d = 0; d < 2; ++d) {
      block.first[d] = workloads::first_of_part(side_, place[d], dims_[d]);
      block.size[d] = workloads::first_of_part(side_, place[d] + 1, dims_[d]) - block.first[d];
    }
    return block;
  }

  double& at(int y, int x) { return u_[static_cast<std::size_t>((y + 1) * pitch_ + x + 1)]; }

  /// Returns the points without ghosts, line by line.
  std::vector<double> interior() {
    std::vector<double> points;
    points.reserve(static_cast<std::size_t>(block_.points()));
    for (int y = 0; y < block_.size[0]; ++y) points.insert(points.end(), &at(y, 0), &at(y, 0) + block_.size[1]);
    return points;
  }

  int side_;
  std::array<int, 2> dims_{};  // of the grid of ranks
  MPI_Comm ranks_ = MPI_COMM_NULL;
  int rank_ = 0;
  Block block_{};
  int pitch_ = 0;  // points from a line to the next
  std::vector<double> u_, next_;
  std::array<int, 4> neighbours_{};  // before and after along y, then along x
  MPI_Datatype column_ = MPI_DATATYPE_NULL;
};

int run(const workloads::MpiEnvironment& mpi, int side, std::uint64_t iterations) {
  const Wave wave{2.0 * std::numbers::pi / side};
  const double points = static_cast<double>(side) * side;
  Field field(side, mpi.size());
  field.fill(wave);
  double worst = 0.0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = workloads::seconds();
  for (std::uint64_t step = 1; step <= iterations; ++step) {
    field.exchange();
    field.update();
    if (step % k_reduce_every == 0) {
      const double mean = field.sum_of_squares() / points;
      worst = workloads::worse(worst, std::abs(mean - 0.5 * std::pow(wave.amplitude(step), 2)));
    }
    if (step % k_gather_every == 0) {
      const double error = field.gather(wave, step);
      worst = workloads::worse(worst, error);
      if (mpi.prints())
        std::printf("Output of step %llu: error %.1e\n", static_cast<unsigned long long>(step), error);
    }
  }
  const double seconds = workloads::max_of_ranks(workloads::seconds() - begin);
  worst = workloads::worse(worst, field.error(wave, iterations));
  const double tolerance = k_tolerance_of_a_step * (10.0 + static_cast<double>(iterations));
  const bool is_right = workloads::is_true_on_all(worst <= tolerance);
  if (!mpi.prints()) return 0;
  std::printf("Points %d x %d, iterations %llu, error %.1e of at most %.1e on rank 0\n", side, side,
              static_cast<unsigned long long>(iterations), worst, tolerance);
  std::printf("Time %.9f s\n", seconds);
  return workloads::verdict(is_right);
}

}  // namespace halo

int main(int argc, char** argv) {
  const workloads::MpiEnvironment mpi(&argc, &argv);
  const auto arguments = workloads::parse_mpi_arguments(argc, argv, mpi, "halo",
                                                        "Heat equation with a halo exchange on MPI ranks", 60);
  const int side = halo::k_sides[arguments.number_of_class];
  if (mpi.size() > side) mpi.fail("halo", std::to_string(mpi.size()) + " ranks: at most " + std::to_string(side));
  return mpi.exit_status(halo::run(mpi, side, arguments.iterations));
}
