// CloverLeaf in two dimensions: solves the compressible Euler equations on a staggered grid by Lagrangian steps
// and advection back to the grid. 156 loops a step.
#include <array>
#include <cmath>

#include "workloads/stencils/cloverleaf/cloverleaf_program.hpp"
#include "workloads/stencils/program.hpp"

namespace terrace::stencil::programs {
namespace {

using namespace cloverleaf;

constexpr std::size_t k_dims = 2;
constexpr double k_loops = 156;
constexpr Safety k_safety{.growth = 1.5, .sound = 0.7, .velocity = 0.5, .divergence = 0.7};

constexpr std::int64_t k_no_end = 640000;
constexpr Deck deck(std::string_view name, std::ptrdiff_t nx, std::ptrdiff_t ny, Vector box, double t_end,
                    std::int64_t end_step, double kinetic, bool is_held) {
  return {name, {nx, ny, 1}, box, {5, 2, 1}, 0.04, t_end, end_step, {kinetic, is_held}};
}
constexpr std::array k_decks{
    deck("tp1", 10, 2, {10, 2, 1}, 3.0, k_no_end, 1.82280367310258, true),
    deck("tp2", 960, 960, {10, 10, 1}, 10.0, 87, 1.19316898756307, true),
    deck("tp3", 960, 960, {10, 10, 1}, 16.0, 2955, 2.58984003503994, false),
    deck("tp4", 3840, 3840, {10, 10, 1}, 0.55, 87, 0.307475452287895, true),
    deck("tp5", 3840, 3840, {10, 10, 1}, 15.6, 2955, 4.85350315783719, false),
};
constexpr OtherRun k_finer{"tp2", {6144, 6144, 1}, 10, {1.994495048539736e-02, true}};

// Computes density and energy after the cell has grown by the volume that its faces sweep.
template <class Written, class Read>
TERRACE_STENCIL_BOTH void compress(double time, const Written& rho1, const Written& e1, const Read& rho0,
                                   const Read& e0, const Read& p, const Read& q, const Read& volume,
                                   const Read& ax, const Read& ay, const Read& u0, const Read& v0, const Read& u,
                                   const Read& v) {
  const double x_low = ax() * low<2, 0>(u0, u) * 0.25 * time;
  const double x_high = ax(1, 0) * high<2, 0>(u0, u) * 0.25 * time;
  const double y_low = ay() * low<2, 1>(v0, v) * 0.25 * time;
  const double y_high = ay(0, 1) * high<2, 1>(v0, v) * 0.25 * time;
  const double growth = x_high - x_low + y_high - y_low;
  const double change = volume() / (volume() + growth);
  e1() = e0() - (p() / rho0() + q() / rho0()) * growth * (1.0 / volume());
  rho1() = rho0() * change;
}

class Hydro2d final : public Hydro<k_dims> {
 public:
  using Hydro::Hydro;

  // Public, because nvcc takes no kernels of private functions.
  void viscosity() override {
    f.grid.loop(
        "viscosity", f.cells(),
        [] TERRACE_STENCIL_KERNEL(auto q, auto u, auto v, auto p, auto rho, auto hx, auto hy) {
          const double rise_u = rise<2, 0>(u);
          const double rise_v = rise<2, 1>(v);
          const double divergence = hx() * rise_u + hy() * rise_v;
          const double exx = 0.5 * rise_u / hx();
          const double eyy = 0.5 * rise_v / hy();
          const double exy = 0.5 * (u(0, 1) + u(1, 1) - u(0, 0) - u(1, 0)) / hy() +
                             0.5 * (v(1, 0) + v(1, 1) - v(0, 0) - v(0, 1)) / hx();
          const double px = (p(1, 0) - p(-1, 0)) / (hx() + hx(1));
          const double py = (p(0, 1) - p(0, -1)) / (hy() + hy(1));
          const double limiter =
              (exx * (px * px) + eyy * (py * py) + exy * px * py) / most(px * px + py * py, 1e-16);
          const double gx = most(std::abs(px), 1e-16);
          const double gy = most(std::abs(py), 1e-16);
          const double g = std::sqrt(gx * gx + gy * gy);
          const double length = least(hx() * g / gx, hy() * g / gy);
          const double shock = 2.0 * rho() * (length * length) * limiter * limiter;
          q() = ((limiter > 0.0) | (divergence >= 0.0)) ? 0.0 : shock;
        },
        write(f.viscosity), read(f.velocity0[0], corners(2)), read(f.velocity0[1], corners(2)),
        read(f.pressure, Stencil{{-1, 0}, {1, 0}, {0, -1}, {0, 1}}), read(f.density0), read(f.axis<0>().width),
        read(f.axis<1>().width));
  }

  void cell_dt() override {
    f.grid.loop(
        "time step of each cell", f.cells(),
        [safety = problem_.safety] TERRACE_STENCIL_KERNEL(auto dt, auto c, auto q, auto rho, auto volume, auto u,
                                                          auto v, auto ax, auto ay, auto hx, auto hy) {
          constexpr double k_small = 1e-16;
          constexpr double k_big = 1e21;
          const double speed = most(std::sqrt(c() * c() + 2.0 * q() / rho()), k_small);
          const double by_sound = safety.sound * least(hx(), hy()) / speed;
          const double u_low = low<2, 0>(u) * ax();
          const double u_high = high<2, 0>(u) * ax(1, 0);
          const double v_low = low<2, 1>(v) * ay();
          const double v_high = high<2, 1>(v) * ay(0, 1);
          const auto by_flow = [&](double a, double b) {
            return safety.velocity * 2.0 * volume() / most(most(std::abs(a), std::abs(b)), k_small * volume());
          };
          const double divergence = (u_high - u_low + v_high - v_low) / (2.0 * volume());
          const double by_divergence = divergence < -k_small ? safety.divergence * (-1.0 / divergence) : k_big;
          dt() = least(least(by_sound, by_divergence), least(by_flow(u_low, u_high), by_flow(v_low, v_high)));
        },
        write(f.work1), read(f.sound_speed), read(f.viscosity), read(f.density0), read(f.volume),
        read(f.velocity0[0], corners(2)), read(f.velocity0[1], corners(2)), read(f.area[0], line(0, 0, 1)),
        read(f.area[1], line(1, 0, 1)), read(f.axis<0>().width), read(f.axis<1>().width));
  }

  void predictor(double dt) override {
    f.grid.loop(
        "compression, predicted", f.cells(),
        [time = 0.5 * dt] TERRACE_STENCIL_KERNEL(auto rho1, auto e1, auto rho0, auto e0, auto p, auto q,
                                                 auto volume, auto ax, auto ay, auto u0, auto v0) {
          compress(time, rho1, e1, rho0, e0, p, q, volume, ax, ay, u0, v0, u0, v0);
        },
        write(f.density1), write(f.energy1), read(f.density0), read(f.energy0), read(f.pressure),
        read(f.viscosity), read(f.volume), read(f.area[0], line(0, 0, 1)), read(f.area[1], line(1, 0, 1)),
        read(f.velocity0[0], corners(2)), read(f.velocity0[1], corners(2)));
  }

  void corrector(double dt) override {
    f.grid.loop(
        "compression", f.cells(),
        [dt] TERRACE_STENCIL_KERNEL(auto rho1, auto e1, auto rho0, auto e0, auto p, auto q, auto volume, auto ax,
                                    auto ay, auto u0, auto v0, auto u1, auto v1) {
          compress(dt, rho1, e1, rho0, e0, p, q, volume, ax, ay, u0, v0, u1, v1);
        },
        write(f.density1), write(f.energy1), read(f.density0), read(f.energy0), read(f.pressure),
        read(f.viscosity), read(f.volume), read(f.area[0], line(0, 0, 1)), read(f.area[1], line(1, 0, 1)),
        read(f.velocity0[0], corners(2)), read(f.velocity0[1], corners(2)), read(f.velocity1[0], corners(2)),
        read(f.velocity1[1], corners(2)));
  }

  void accelerate(double dt) override {
    f.grid.loop(
        "acceleration", f.vertices(),
        [dt] TERRACE_STENCIL_KERNEL(auto u1, auto v1, auto u0, auto v0, auto rho, auto volume, auto p, auto q,
                                    auto ax, auto ay) {
          const double mass = (rho(-1, -1) * volume(-1, -1) + rho(0, -1) * volume(0, -1) + rho() * volume() +
                               rho(-1, 0) * volume(-1, 0)) *
                              0.25;
          const double s = 0.5 * dt / mass;
          const auto push_x = [&](const auto& g) {
            return ax() * (g() - g(-1, 0)) + ax(0, -1) * (g(0, -1) - g(-1, -1));
          };
          const auto push_y = [&](const auto& g) {
            return ay() * (g() - g(0, -1)) + ay(-1, 0) * (g(-1, 0) - g(-1, -1));
          };
          u1() = u0() - s * push_x(p) - s * push_x(q);
          v1() = v0() - s * push_y(p) - s * push_y(q);
        },
        write(f.velocity1[0]), write(f.velocity1[1]), read(f.velocity0[0]), read(f.velocity0[1]),
        read(f.density0, cells_around(2)), read(f.volume, cells_around(2)), read(f.pressure, cells_around(2)),
        read(f.viscosity, cells_around(2)), read(f.area[0], line(1, -1, 0)), read(f.area[1], line(0, -1, 0)));
  }

  template <std::size_t Axis>
  void volume_flux(double dt) {
    f.grid.loop(
        with_axis("volume flux", Axis), f.range_along(Axis, 0, 1, 0),
        [dt] TERRACE_STENCIL_KERNEL(auto flux, auto area, auto w0, auto w1) {
          flux() = 0.25 * dt * area() * low<2, Axis>(w0, w1);
        },
        write(f.flux[Axis]), read(f.area[Axis]), read(f.velocity0[Axis], line(1 - Axis, 0, 1)),
        read(f.velocity1[Axis], line(1 - Axis, 0, 1)));
  }
  void volume_fluxes(double dt) override {
    volume_flux<0>(dt);
    volume_flux<1>(dt);
  }

  template <std::size_t Axis>
  void sweep_cells() {
    cell_flux<Axis>(f);
    cell_update<Axis>(f);
  }

  // Volumes, mass fluxes and masses are recomputed for each component.
  template <std::size_t Axis, std::size_t Before, std::size_t... Others>
  void sweep_momentum(Directions<Others...> others) {
    for (const auto& velocity : f.velocity1) {
      momentum_volumes<Before>(f, others);
      node_flux<Axis>(f);
      node_mass<Axis>(f);
      momentum_flux<Axis>(f, velocity);
      velocity_update<Axis>(f, velocity);
    }
  }

  template <std::size_t First, std::size_t Second>
  void advect_along() {
    halo({.cells = {f.density1, f.energy1}, .fluxes = {{{f.flux[0]}, {f.flux[1]}}}}, 2);
    cell_volumes<First, true>(f, Directions<First, Second>{});
    sweep_cells<First>();
    Exchange<k_dims> swept{.cells = {f.density1, f.energy1}, .velocities = {{{f.velocity1[0]}, {f.velocity1[1]}}}};
    swept.fluxes[First] = {f.mass_flux[First]};
    halo(swept, 2);
    sweep_momentum<First, First>(Directions<Second>{});
    cell_volumes<Second, false>(f, Directions<Second>{});
    sweep_cells<Second>();
    swept.fluxes[Second] = {f.mass_flux[Second]};
    halo(swept, 2);
    // The unused volume before the sweep includes the flux of the other direction, as published.
    sweep_momentum<Second, First>(Directions<>{});
  }
  void advect(bool is_odd) override {
    if (is_odd)
      advect_along<0, 1>();
    else
      advect_along<1, 0>();
  }
};

}  // namespace

const StencilProgram& cloverleaf2d_program() {
  static const CloverleafProgram<Hydro2d> program({"cloverleaf2d",
                                                   "compressible Euler equations, CloverLeaf in 2D", "NxM", k_dims,
                                                   k_decks, k_finer, k_safety, k_loops});
  return program;
}

}  // namespace terrace::stencil::programs
