// Solves NPB LU's block-triangular systems. Source: RNR-94-007, section 3.
//
// Plane by plane, as in the benchmark: the blocks of all points of a plane are set up (its jacld and jacu), then
// the plane is solved (its blts and buts).
#include "lu/sweeps.hpp"

#include <algorithm>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "cfd/jacobian.hpp"

namespace lu {
namespace {

using cfd::k_block;
using cfd::k_unknowns;

/// x = the inverse of D times x. The block is dominated by its diagonal, so there is no pivoting.
void solve_block(const double* block, double* x) {
  double d[k_block];
  std::copy_n(block, k_block, d);
  for (int p = 0; p < k_unknowns; ++p) {
    const double* const pivot = d + k_unknowns * p;
    const double scale = 1.0 / pivot[p];
    for (int r = p + 1; r < k_unknowns; ++r) {
      double* const row = d + k_unknowns * r;
      const double factor = row[p] * scale;
      for (int e = p + 1; e < k_unknowns; ++e) row[e] -= factor * pivot[e];
      x[r] -= factor * x[p];
    }
  }
  for (int p = k_unknowns - 1; p >= 0; --p) {
    const double* const pivot = d + k_unknowns * p;
    for (int e = p + 1; e < k_unknowns; ++e) x[p] -= pivot[e] * x[e];
    x[p] /= pivot[p];
  }
}

/// Upwards, a point's solution needs those of the three neighbours before it; downwards, of those after it.
enum class Way { up, down };

template <Way way>
class Planes {
 public:
  Planes(const cfd::Cube& cube, double dt, const Fields& fields)
      : cube_(cube),
        fields_(fields),
        // a and c change places between the ways, as in the benchmark.
        along_x_(way == Way::up ? fields.c : fields.a),
        along_z_(way == Way::up ? fields.a : fields.c) {
    const double inverse_spacing = cube.n - 1;
    carry_ = k_sign * dt * 0.5 * inverse_spacing;
    for (int direction = 0; direction < 3; ++direction) {
      neighbour_weights_[direction].add(direction, dt * inverse_spacing * inverse_spacing);
      own_weights_.add(direction, dt * inverse_spacing * inverse_spacing);
    }
  }

  /// Sets up the blocks of row j of plane k.
  void set_up(int j, int k) const {
    for (int i = cube_.inside[0].begin; i < cube_.inside[0].end; ++i) {
      const std::ptrdiff_t p = cube_.at(i, j, k);
      const std::ptrdiff_t block = block_at(i, j);
      cfd::diagonal_block(point_at(p), own_weights_, fields_.d + block);
      set_up_neighbour<0>(p, along_x_ + block);
      set_up_neighbour<1>(p, fields_.b + block);
      set_up_neighbour<2>(p, along_z_ + block);
    }
  }

  /// Solves row j of plane k; the row and the plane that it needs are solved.
  void solve(int j, int k) const {
    const cfd::Range line = cube_.inside[0];
    for (int step = 0; step < line.size(); ++step) {
      const int i = way == Way::up ? line.begin + step : line.end - 1 - step;
      const std::ptrdiff_t p = cube_.at(i, j, k);
      const std::ptrdiff_t block = block_at(i, j);
      double* const own = &fields_.rsd(0, p);
      // Upwards rsd itself is divided by d; downwards, only what the neighbours take from it.
      double x[k_unknowns] = {};
      if (way == Way::up) std::copy_n(own, k_unknowns, x);
      take_neighbour<2>(p, along_z_ + block, x);
      take_neighbour<1>(p, fields_.b + block, x);
      take_neighbour<0>(p, along_x_ + block, x);
      solve_block(fields_.d + block, x);
      for (int m = 0; m < k_unknowns; ++m) own[m] = way == Way::up ? x[m] : own[m] + x[m];
    }
  }

 private:
  static constexpr int k_sign = way == Way::up ? -1 : 1;

  /// Returns where the blocks of a point lie, which are those of one plane at a time.
  std::ptrdiff_t block_at(int i, int j) const { return k_block * cube_.at(i, j, cube_.stored[2].begin); }

  cfd::Point point_at(std::ptrdiff_t p) const {
    const double* const u = &fields_.u(0, p);
    const double rho_i = 1.0 / u[0];
    const double square = 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) * rho_i;
    return {u, rho_i, square * rho_i, square};
  }

  template <int Direction>
  std::ptrdiff_t neighbour(std::ptrdiff_t p) const {
    return p + k_sign * cube_.stride<Direction>();
  }

  template <int Direction>
  void set_up_neighbour(std::ptrdiff_t p, double* block) const {
    cfd::neighbour_block<Direction>(point_at(neighbour<Direction>(p)), carry_, neighbour_weights_[Direction],
                                    block);
  }

  /// x = x - omega times the block times the neighbour's rsd.
  template <int Direction>
  void take_neighbour(std::ptrdiff_t p, const double* block, double* x) const {
    const double* const v = &fields_.rsd(0, neighbour<Direction>(p));
    for (int r = 0; r < k_unknowns; ++r) {
      const double* const row = block + k_unknowns * r;
      x[r] -= k_omega * (row[0] * v[0] + row[1] * v[1] + row[2] * v[2] + row[3] * v[3] + row[4] * v[4]);
    }
  }

  cfd::Cube cube_;
  Fields fields_;
  double* along_x_;
  double* along_z_;
  double carry_;
  std::array<cfd::Weights, 3> neighbour_weights_;
  cfd::Weights own_weights_;
};

/// Sets up and solves the rows [begin, end) of plane k.
template <Way way>
void solve_rows(const Planes<way>& planes, int begin, int end, int k) {
  for (int j = begin; j < end; ++j) planes.set_up(j, k);
  for (int step = 0; step < end - begin; ++step) planes.solve(way == Way::up ? begin + step : end - 1 - step, k);
}

/// Each thread has rows of its own in all planes and is a plane behind the thread whose rows its own need: a
/// pipeline with a barrier for each plane. The results are those of one thread.
template <Way way>
void solve_planes(const cfd::Cube& cube, const Planes<way>& planes) {
  const cfd::Range rows = cube.inside[1];
  const int inside = cube.inside[2].size();
#pragma omp parallel
  {
#ifdef _OPENMP
    const int threads = omp_get_num_threads();
    const int thread = omp_get_thread_num();
#else
    const int threads = 1;
    const int thread = 0;
#endif
    const int begin = rows.begin + rows.size() * thread / threads;
    const int end = rows.begin + rows.size() * (thread + 1) / threads;
    const int behind = way == Way::up ? thread : threads - 1 - thread;
    for (int step = 0; step < inside + threads - 1; ++step) {
      const int plane = step - behind;
      if (plane >= 0 && plane < inside)
        solve_rows(planes, begin, end,
                   way == Way::up ? cube.inside[2].begin + plane : cube.inside[2].end - 1 - plane);
#pragma omp barrier
    }
  }
}

}  // namespace

[[gnu::noinline]] void lower(const cfd::Cube& cube, double dt, const Fields& fields) {
#pragma omp parallel for schedule(static)
  for (int k = cube.inside[2].begin; k < cube.inside[2].end; ++k) {
    for (int j = cube.inside[1].begin; j < cube.inside[1].end; ++j) {
      for (std::ptrdiff_t p = cube.at(cube.inside[0].begin, j, k); p < cube.at(cube.inside[0].end, j, k); ++p) {
#pragma GCC unroll 5
        for (int m = 0; m < k_unknowns; ++m) fields.rsd(m, p) *= dt;
      }
    }
  }
  solve_planes(cube, Planes<Way::up>(cube, dt, fields));
}

[[gnu::noinline]] void upper(const cfd::Cube& cube, double dt, const Fields& fields) {
  solve_planes(cube, Planes<Way::down>(cube, dt, fields));
}

}  // namespace lu
