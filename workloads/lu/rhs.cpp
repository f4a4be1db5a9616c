// Computes the residual of NPB LU. Source: RNR-94-007, section 3.
//
// As in the benchmark, the fluxes along a direction are kept in an array over the grid: first those at the points,
// of what is carried along, then those between a point and the one before it, of what diffuses.
#include "lu/rhs.hpp"

#include "cfd/dissipation.hpp"

namespace lu {
namespace {

template <int Direction>
class Fluxes {
 public:
  Fluxes(const cfd::Cube& cube, const Fields& fields)
      : s_(cube.stride<Direction>()), spacing_(cube.n - 1), u_(fields.u), rsd_(fields.rsd), flux_(fields.flux) {}

  /// The flux at p of what is carried along.
  void carry(std::ptrdiff_t p) const {
    const double speed = u_(k_along, p) / u_(0, p);
    const double kinetic = 0.5 * (u_(1, p) * u_(1, p) + u_(2, p) * u_(2, p) + u_(3, p) * u_(3, p)) / u_(0, p);
    flux_(0, p) = u_(k_along, p);
#pragma GCC unroll 3
    for (int m = 1; m <= 3; ++m) flux_(m, p) = u_(m, p) * speed;
    flux_(k_along, p) += cfd::k_pressure * (u_(4, p) - kinetic);
    flux_(4, p) = (cfd::k_gamma * u_(4, p) - cfd::k_pressure * kinetic) * speed;
  }

  void add_carried(std::ptrdiff_t p) const {
#pragma GCC unroll 5
    for (int m = 0; m < cfd::k_unknowns; ++m) rsd_(m, p) -= 0.5 * spacing_ * (flux_(m, p + s_) - flux_(m, p - s_));
  }

  /// The flux between p and the point before it of what diffuses.
  void diffuse(std::ptrdiff_t p) const {
    const std::ptrdiff_t before = p - s_;
    const double rho_i = 1.0 / u_(0, p);
    const double rho_i_before = 1.0 / u_(0, before);
    double kinetic = 0.0;
    double along = 0.0;
#pragma GCC unroll 3
    for (int m = 1; m <= 3; ++m) {
      const double velocity = u_(m, p) * rho_i;
      const double velocity_before = u_(m, before) * rho_i_before;
      const double squares = velocity * velocity - velocity_before * velocity_before;
      flux_(m, p) = (m == k_along ? cfd::k_stretch : 1.0) * spacing_ * (velocity - velocity_before);
      kinetic += squares;
      if (m == k_along) along = squares;
    }
    flux_(4, p) = spacing_ * (0.5 * (1.0 - cfd::k_conduction) * kinetic + along / 6.0 +
                              cfd::k_conduction * (u_(4, p) * rho_i - u_(4, before) * rho_i_before));
  }

  void add_diffused(std::ptrdiff_t p) const {
    const double diffusion = cfd::k_diffusion[Direction] * spacing_ * spacing_;
    const std::ptrdiff_t l = p - s_;
    const std::ptrdiff_t r = p + s_;
#pragma GCC unroll 5
    for (int m = 0; m < cfd::k_unknowns; ++m) {
      const double bend = diffusion * (u_(m, r) - 2.0 * u_(m, p) + u_(m, l));
      const double friction = m == 0 ? 0.0 : spacing_ * cfd::k_viscosity * (flux_(m, r) - flux_(m, p));
      rsd_(m, p) += bend + friction;
    }
  }

 private:
  static constexpr int k_along = Direction + 1;  // the momentum along the direction

  std::ptrdiff_t s_;
  double spacing_;  // its inverse
  cfd::Together u_;
  cfd::Together rsd_;
  cfd::Together flux_;
};

/// Calls work(point) for a line of points along x.
template <typename Work>
void for_line(const cfd::Cube& cube, cfd::Range line, int j, int k, Work work) {
  const std::ptrdiff_t begin = cube.at(line.begin, j, k);
  for (std::ptrdiff_t p = begin; p < begin + line.size(); ++p) work(p);
}

// Flux by flux, in pieces as large as the direction needs: lines along x, planes along y, the grid along z.

void add_x_fluxes(const cfd::Cube& cube, const Fields& fields) {
  const Fluxes<0> fluxes(cube, fields);
  const int begin = cube.inside[0].begin;
  const int end = cube.inside[0].end;
#pragma omp parallel for schedule(static)
  for (int k = cube.inside[2].begin; k < cube.inside[2].end; ++k) {
    for (int j = cube.inside[1].begin; j < cube.inside[1].end; ++j) {
      for_line(cube, {begin - 1, end + 1}, j, k, [&](std::ptrdiff_t p) { fluxes.carry(p); });
    }
  }
#pragma omp parallel for schedule(static)
  for (int k = cube.inside[2].begin; k < cube.inside[2].end; ++k) {
    for (int j = cube.inside[1].begin; j < cube.inside[1].end; ++j) {
      for_line(cube, {begin, end}, j, k, [&](std::ptrdiff_t p) { fluxes.add_carried(p); });
      for_line(cube, {begin, end + 1}, j, k, [&](std::ptrdiff_t p) { fluxes.diffuse(p); });
      for_line(cube, {begin, end}, j, k, [&](std::ptrdiff_t p) { fluxes.add_diffused(p); });
    }
  }
}

void add_y_fluxes(const cfd::Cube& cube, const Fields& fields) {
  const Fluxes<1> fluxes(cube, fields);
  const cfd::Range line = cube.inside[0];
  const int begin = cube.inside[1].begin;
  const int end = cube.inside[1].end;
#pragma omp parallel for schedule(static)
  for (int k = cube.inside[2].begin; k < cube.inside[2].end; ++k) {
    for (int j = begin - 1; j < end + 1; ++j)
      for_line(cube, line, j, k, [&](std::ptrdiff_t p) { fluxes.carry(p); });
  }
#pragma omp parallel for schedule(static)
  for (int k = cube.inside[2].begin; k < cube.inside[2].end; ++k) {
    for (int j = begin; j < end; ++j) for_line(cube, line, j, k, [&](std::ptrdiff_t p) { fluxes.add_carried(p); });
    for (int j = begin; j < end + 1; ++j) for_line(cube, line, j, k, [&](std::ptrdiff_t p) { fluxes.diffuse(p); });
    for (int j = begin; j < end; ++j)
      for_line(cube, line, j, k, [&](std::ptrdiff_t p) { fluxes.add_diffused(p); });
  }
}

/// Calls work(point) for the interior's lines along z, and the planes from `begin` to `end`.
template <typename Work>
void for_planes(const cfd::Cube& cube, int begin, int end, Work work) {
#pragma omp parallel for schedule(static)
  for (int k = begin; k < end; ++k) {
    for (int j = cube.inside[1].begin; j < cube.inside[1].end; ++j) for_line(cube, cube.inside[0], j, k, work);
  }
}

void add_z_fluxes(const cfd::Cube& cube, const Fields& fields) {
  const Fluxes<2> fluxes(cube, fields);
  const int begin = cube.inside[2].begin;
  const int end = cube.inside[2].end;
  for_planes(cube, begin - 1, end + 1, [&](std::ptrdiff_t p) { fluxes.carry(p); });
  for_planes(cube, begin, end, [&](std::ptrdiff_t p) { fluxes.add_carried(p); });
  for_planes(cube, begin, end + 1, [&](std::ptrdiff_t p) { fluxes.diffuse(p); });
  for_planes(cube, begin, end, [&](std::ptrdiff_t p) { fluxes.add_diffused(p); });
}

}  // namespace

[[gnu::noinline]] void compute_rhs(const cfd::Cube& cube, const Fields& fields) {
#pragma omp parallel for schedule(static)
  for (int k = 0; k < cube.stored[2].size(); ++k) {
    for (std::ptrdiff_t p = k * cube.plane; p < (k + 1) * cube.plane; ++p) {
#pragma GCC unroll 5
      for (int m = 0; m < cfd::k_unknowns; ++m) fields.rsd(m, p) = -fields.frct(m, p);
    }
  }
  add_x_fluxes(cube, fields);
  cfd::dissipate<0>(cube, fields.u, fields.rsd);
  add_y_fluxes(cube, fields);
  cfd::dissipate<1>(cube, fields.u, fields.rsd);
  add_z_fluxes(cube, fields);
  cfd::dissipate<2>(cube, fields.u, fields.rsd);
}

}  // namespace lu
