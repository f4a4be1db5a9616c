// Multiplies by the eigenvector matrices of SP's flux Jacobians and their inverses. Source: RNR-94-007,
// section 3; Pulliam and Chaussee, J. Comput. Phys. 39, 1981.
#include "sp/transforms.hpp"

namespace sp {
namespace {

constexpr double k_half_root = 0.70710678118654752440;  // sqrt(1/2)

/// Replaces the five values of rhs at each point of the interior by what change(point, values) makes of them.
template <typename Change>
void for_each_point(const cfd::Cube& cube, const Fields& fields, Change change) {
  const cfd::Apart rhs = fields.rhs;
#pragma omp parallel for schedule(static)
  for (int k = cube.inside[2].begin; k < cube.inside[2].end; ++k) {
    for (int j = cube.inside[1].begin; j < cube.inside[1].end; ++j) {
      for (int i = cube.inside[0].begin; i < cube.inside[0].end; ++i) {
        const std::ptrdiff_t p = cube.at(i, j, k);
        const cfd::State r = change(p, cfd::State{rhs(0, p), rhs(1, p), rhs(2, p), rhs(3, p), rhs(4, p)});
#pragma GCC unroll 5
        for (int m = 0; m < cfd::k_unknowns; ++m) rhs(m, p) = r[m];
      }
    }
  }
}

}  // namespace

[[gnu::noinline]] void txinvr(const cfd::Cube& cube, const Fields& fields) {
  const cfd::Derived of = fields.derived;
  const double* const speed = fields.speed;
  const double* const ainv = fields.ainv;
  for_each_point(cube, fields, [=](std::ptrdiff_t p, const cfd::State& r) {
    const double pressure = cfd::k_pressure * ainv[p] * ainv[p] *
                            (of.qs[p] * r[0] - of.us[p] * r[1] - of.vs[p] * r[2] - of.ws[p] * r[3] + r[4]);
    const double across = k_half_root * of.rho_i[p] * (of.us[p] * r[0] - r[1]);
    const double sound = k_half_root * of.rho_i[p] * speed[p] * pressure;
    return cfd::State{r[0] - pressure, of.rho_i[p] * (r[3] - of.ws[p] * r[0]),
                      of.rho_i[p] * (of.vs[p] * r[0] - r[2]), sound - across, sound + across};
  });
}

[[gnu::noinline]] void ninvr(const cfd::Cube& cube, const Fields& fields) {
  for_each_point(cube, fields, [](std::ptrdiff_t, const cfd::State& r) {
    const double mean = 0.5 * (r[3] + r[4]);
    return cfd::State{-r[1], r[0], k_half_root * (r[3] - r[4]), mean - k_half_root * r[2],
                      mean + k_half_root * r[2]};
  });
}

[[gnu::noinline]] void pinvr(const cfd::Cube& cube, const Fields& fields) {
  for_each_point(cube, fields, [](std::ptrdiff_t, const cfd::State& r) {
    const double mean = 0.5 * (r[3] + r[4]);
    return cfd::State{k_half_root * (r[3] - r[4]), -r[2], r[1], mean - k_half_root * r[0],
                      mean + k_half_root * r[0]};
  });
}

[[gnu::noinline]] void tzetar(const cfd::Cube& cube, const Fields& fields) {
  const cfd::Derived of = fields.derived;
  const cfd::Apart u = fields.u;
  const double* const speed = fields.speed;
  for_each_point(cube, fields, [=](std::ptrdiff_t p, const cfd::State& r) {
    const double density = u(0, p);
    const double waves = k_half_root * density * (r[3] + r[4]) / speed[p];
    const double mass = r[2] + waves;
    const double lift = k_half_root * density * (r[3] - r[4]);
    const double energy = density * (of.vs[p] * r[0] - of.us[p] * r[1]) + of.qs[p] * mass +
                          speed[p] * speed[p] * waves / cfd::k_pressure + of.ws[p] * lift;
    return cfd::State{mass, of.us[p] * mass - density * r[1], of.vs[p] * mass + density * r[0],
                      of.ws[p] * mass + lift, energy};
  });
}

}  // namespace sp
