// CloverLeaf in three dimensions: solves the compressible Euler equations on a staggered grid by Lagrangian
// steps and advection back to the grid. 603 loops a step, of which 240 are halo groups without a field.
#include <array>
#include <cmath>

#include "workloads/stencils/cloverleaf/cloverleaf_program.hpp"
#include "workloads/stencils/program.hpp"

namespace terrace::stencil::programs {
namespace {

using namespace cloverleaf;

constexpr std::size_t k_dims = 3;
constexpr double k_loops = 603;
constexpr Safety k_safety{.growth = 1.05, .sound = 0.75, .velocity = 0.5, .divergence = 0.5};

constexpr Deck cube(std::string_view name, std::ptrdiff_t n, std::int64_t end_step, double kinetic, bool is_held) {
  return {name, {n, n, n}, {10, 10, 10}, {5, 2, 4}, 0.1, 1000.1, end_step, {kinetic, is_held}};
}
constexpr std::array k_decks{
    Deck{"tp1", {10, 2, 2}, {10, 2, 2}, {5, 2, 2}, 0.04, 10.0, 75, {3.64560737191257, true}},
    cube("tp2", 96, 87, 20.0546870878964, true),
    cube("tp3", 96, 2955, 0.37517221925665, false),
    cube("tp4", 256, 87, 17.9845165368889, true),
    cube("tp5", 256, 2955, 2.05018938455107, false),
};
constexpr OtherRun k_shorter{"tp4", {256, 256, 256}, 10, {1.608198389669120e+00, true}};

// C* and B* with no offset along the direction.
Stencil face_corners(std::size_t axis) { return slab(k_dims, axis, 0, 0, 0, 1); }
Stencil faces_around(std::size_t axis) { return slab(k_dims, axis, 0, 0, -1, 0); }

class Hydro3d final : public Hydro<k_dims> {
 public:
  using Hydro::Hydro;

 private:
  void viscosity() override {
    f.grid.loop(
        "viscosity", f.cells(),
        [](auto q, auto u, auto v, auto w, auto p, auto rho, auto ax, auto ay, auto az, auto hx, auto hy,
           auto hz) {
          const double rise_u = rise<3, 0>(u);
          const double rise_v = rise<3, 1>(v);
          const double rise_w = rise<3, 2>(w);
          const double divergence = ax() * rise_u + ay() * rise_v + az() * rise_w;
          const double exx = 0.25 * rise_u / hx();
          const double eyy = 0.25 * rise_v / hy();
          const double ezz = 0.25 * rise_w / hz();
          const double exy = 0.25 * rise<3, 1>(u) / hy() + 0.25 * rise<3, 0>(v) / hx();
          const double exz = 0.25 * rise<3, 2>(u) / hz() + 0.25 * rise<3, 0>(w) / hx();
          const double eyz = 0.25 * rise<3, 2>(v) / hz() + 0.25 * rise<3, 1>(w) / hy();
          const double px = (p(1, 0, 0) - p(-1, 0, 0)) / (hx() + hx(1));
          const double py = (p(0, 1, 0) - p(0, -1, 0)) / (hy() + hy(1));
          const double pz = (p(0, 0, 1) - p(0, 0, -1)) / (hz() + hz(1));
          const double limiter = (exx * (px * px) + eyy * (py * py) + ezz * (pz * pz) + exy * px * py +
                                  exz * px * pz + eyz * py * pz) /
                                 most(px * px + py * py + pz * pz, 1e-16);
          const double gx = most(std::abs(px), 1e-16);
          const double gy = most(std::abs(py), 1e-16);
          const double gz = most(std::abs(pz), 1e-16);
          const double g = std::sqrt(gx * gx + gy * gy + gz * gz);
          const double length = least(least(hx() * g / gx, hy() * g / gy), hz() * g / gz);
          const double shock = 2.0 * rho() * (length * length) * limiter * limiter;
          q() = ((limiter > 0.0) | (divergence >= 0.0)) ? 0.0 : shock;
        },
        write(f.viscosity), read(f.velocity0[0], corners(3)), read(f.velocity0[1], corners(3)),
        read(f.velocity0[2], corners(3)),
        read(f.pressure, Stencil{{-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, -1}, {0, 0, 1}}),
        read(f.density0), read(f.area[0]), read(f.area[1]), read(f.area[2]), read(f.axis<0>().width),
        read(f.axis<1>().width), read(f.axis<2>().width));
  }

  void cell_dt() override {
    f.grid.loop(
        "time step of each cell", f.cells(),
        [safety = problem_.safety](auto dt, auto c, auto q, auto rho, auto volume, auto u, auto v, auto w, auto ax,
                                   auto ay, auto az, auto hx, auto hy, auto hz) {
          constexpr double k_small = 1e-16;
          constexpr double k_small_part = 1e-5;
          const double width = least(least(hx(), hy()), hz());
          const double rate = std::sqrt(1.0 / (width * width) * (c() * c() + 2.0 * q() / rho()));
          const double by_sound = safety.sound / most(rate, k_small);
          // In the z direction the corner in y is added before that in x. Both faces use the area of the low
          // one.
          const auto face_w = [&](std::ptrdiff_t z) { return w(0, 0, z) + w(0, 1, z) + w(1, 0, z) + w(1, 1, z); };
          const double u_low = low<3, 0>(u) * ax();
          const double u_high = high<3, 0>(u) * ax();
          const double v_low = low<3, 1>(v) * ay();
          const double v_high = high<3, 1>(v) * ay();
          const double w_low = face_w(0) * az();
          const double w_high = face_w(1) * az();
          const auto by_flow = [&](double a, double b) {
            return safety.velocity * 4.0 * volume() /
                   most(most(std::abs(a), std::abs(b)), k_small_part * volume());
          };
          const double divergence = u_high - u_low + v_high - v_low + w_high - w_low;
          // Expansion limits the step, too, as published.
          const double by_divergence =
              safety.divergence * 4.0 * volume() / most(volume() * k_small_part, std::abs(divergence));
          dt() = least(least(least(by_sound, by_divergence), by_flow(u_low, u_high)),
                       least(by_flow(v_low, v_high), by_flow(w_low, w_high)));
        },
        write(f.work1), read(f.sound_speed), read(f.viscosity), read(f.density0), read(f.volume),
        read(f.velocity0[0], corners(3)), read(f.velocity0[1], corners(3)), read(f.velocity0[2], corners(3)),
        read(f.area[0]), read(f.area[1]), read(f.area[2]), read(f.axis<0>().width), read(f.axis<1>().width),
        read(f.axis<2>().width));
  }

  // Computes density and energy after the cell has grown by the volume that its faces sweep.
  static constexpr auto compress = [](double time, auto& rho1, auto& e1, auto& rho0, auto& e0, auto& p, auto& q,
                                      auto& volume, auto& ax, auto& ay, auto& az, auto& u0, auto& v0, auto& w0,
                                      auto& u, auto& v, auto& w) {
    const double x_low = ax() * low<3, 0>(u0, u) * 0.125 * time;
    const double x_high = ax(1, 0, 0) * high<3, 0>(u0, u) * 0.125 * time;
    const double y_low = ay() * low<3, 1>(v0, v) * 0.125 * time;
    const double y_high = ay(0, 1, 0) * high<3, 1>(v0, v) * 0.125 * time;
    const double z_low = az() * low<3, 2>(w0, w) * 0.125 * time;
    const double z_high = az(0, 0, 1) * high<3, 2>(w0, w) * 0.125 * time;
    const double growth = x_high - x_low + y_high - y_low + z_high - z_low;
    const double change = volume() / (volume() + growth);
    e1() = e0() - (p() / rho0() + q() / rho0()) * growth * (1.0 / volume());
    rho1() = rho0() * change;
  };

  void predictor(double dt) override {
    f.grid.loop(
        "compression, predicted", f.cells(),
        [time = 0.5 * dt](auto rho1, auto e1, auto rho0, auto e0, auto p, auto q, auto volume, auto ax, auto ay,
                          auto az, auto u0, auto v0, auto w0) {
          compress(time, rho1, e1, rho0, e0, p, q, volume, ax, ay, az, u0, v0, w0, u0, v0, w0);
        },
        write(f.density1), write(f.energy1), read(f.density0), read(f.energy0), read(f.pressure),
        read(f.viscosity), read(f.volume), read(f.area[0], line(0, 0, 1)), read(f.area[1], line(1, 0, 1)),
        read(f.area[2], line(2, 0, 1)), read(f.velocity0[0], corners(3)), read(f.velocity0[1], corners(3)),
        read(f.velocity0[2], corners(3)));
  }

  void corrector(double dt) override {
    f.grid.loop(
        "compression", f.cells(),
        [dt](auto rho1, auto e1, auto rho0, auto e0, auto p, auto q, auto volume, auto ax, auto ay, auto az,
             auto u0, auto v0, auto w0, auto u1, auto v1,
             auto w1) { compress(dt, rho1, e1, rho0, e0, p, q, volume, ax, ay, az, u0, v0, w0, u1, v1, w1); },
        write(f.density1), write(f.energy1), read(f.density0), read(f.energy0), read(f.pressure),
        read(f.viscosity), read(f.volume), read(f.area[0], line(0, 0, 1)), read(f.area[1], line(1, 0, 1)),
        read(f.area[2], line(2, 0, 1)), read(f.velocity0[0], corners(3)), read(f.velocity0[1], corners(3)),
        read(f.velocity0[2], corners(3)), read(f.velocity1[0], corners(3)), read(f.velocity1[1], corners(3)),
        read(f.velocity1[2], corners(3)));
  }

  void accelerate(double dt) override {
    f.grid.loop(
        "acceleration", f.vertices(),
        [dt](auto u1, auto v1, auto w1, auto u0, auto v0, auto w0, auto rho, auto volume, auto p, auto q, auto ax,
             auto ay, auto az) {
          const auto mass = [&](std::ptrdiff_t x, std::ptrdiff_t y, std::ptrdiff_t z) {
            return rho(x, y, z) * volume(x, y, z);
          };
          const double masses = mass(-1, -1, 0) + mass(0, -1, 0) + mass(0, 0, 0) + mass(-1, 0, 0) +
                                mass(-1, -1, -1) + mass(0, -1, -1) + mass(0, 0, -1) + mass(-1, 0, -1);
          const double s = 0.25 * dt / (0.125 * masses);
          const auto push_x = [&](const auto& g) {
            const auto at = [&](std::ptrdiff_t y, std::ptrdiff_t z) {
              return ax(0, y, z) * (g(0, y, z) - g(-1, y, z));
            };
            return at(0, 0) + at(-1, 0) + at(0, -1) + at(-1, -1);
          };
          const auto push_y = [&](const auto& g) {
            const auto at = [&](std::ptrdiff_t x, std::ptrdiff_t z) {
              return ay(x, 0, z) * (g(x, 0, z) - g(x, -1, z));
            };
            return at(0, 0) + at(-1, 0) + at(0, -1) + at(-1, -1);
          };
          // In the z direction the offset in y comes before that in x.
          const auto push_z = [&](const auto& g) {
            const auto at = [&](std::ptrdiff_t y, std::ptrdiff_t x) {
              return az(x, y, 0) * (g(x, y, 0) - g(x, y, -1));
            };
            return at(0, 0) + at(-1, 0) + at(0, -1) + at(-1, -1);
          };
          u1() = u0() - s * push_x(p) - s * push_x(q);
          v1() = v0() - s * push_y(p) - s * push_y(q);
          w1() = w0() - s * push_z(p) - s * push_z(q);
        },
        write(f.velocity1[0]), write(f.velocity1[1]), write(f.velocity1[2]), read(f.velocity0[0]),
        read(f.velocity0[1]), read(f.velocity0[2]), read(f.density0, cells_around(3)),
        read(f.volume, cells_around(3)), read(f.pressure, cells_around(3)), read(f.viscosity, cells_around(3)),
        read(f.area[0], faces_around(0)), read(f.area[1], faces_around(1)), read(f.area[2], faces_around(2)));
  }

  template <std::size_t Axis>
  void volume_flux(double dt) {
    f.grid.loop(
        with_axis("volume flux", Axis), f.range_along(Axis, 0, 1, 0),
        [dt](auto flux, auto area, auto w0, auto w1) { flux() = 0.125 * dt * area() * low<3, Axis>(w0, w1); },
        write(f.flux[Axis]), read(f.area[Axis]), read(f.velocity0[Axis], face_corners(Axis)),
        read(f.velocity1[Axis], face_corners(Axis)));
  }
  void volume_fluxes(double dt) override {
    volume_flux<0>(dt);
    volume_flux<1>(dt);
    // The corner in x of the old velocity counts twice, that in y not at all, as published.
    f.grid.loop(
        with_axis("volume flux", 2), f.range_along(2, 0, 1, 0),
        [dt](auto flux, auto area, auto w0, auto w1) {
          flux() =
              0.125 * dt * area() *
              (w0() + w0(1, 0, 0) + w0(1, 0, 0) + w0(1, 1, 0) + w1() + w1(1, 0, 0) + w1(0, 1, 0) + w1(1, 1, 0));
        },
        write(f.flux[2]), read(f.area[2]), read(f.velocity0[2], Stencil{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}}),
        read(f.velocity1[2], face_corners(2)));
  }

  // Updates the halos of density, energy and volume fluxes; of density, energy, velocities and the mass flux of
  // a direction.
  void halo_before_cells() const {
    halo({.cells = {f.density1, f.energy1}, .fluxes = {{{f.flux[0]}, {f.flux[1]}, {f.flux[2]}}}}, 2);
  }
  void halo_before_momentum(std::size_t axis) const {
    Exchange<k_dims> swept{.cells = {f.density1, f.energy1},
                           .velocities = {{{f.velocity1[0]}, {f.velocity1[1]}, {f.velocity1[2]}}}};
    swept.fluxes[axis] = {f.mass_flux[axis]};
    halo(swept, 2);
  }

  template <std::size_t Axis, bool Is_first, std::size_t... Order>
  void sweep_cells(Directions<Order...> order) {
    cell_volumes<Axis, Is_first>(f, order);
    cell_flux<Axis>(f);
    cell_update<Axis>(f);
  }

  // Volumes are recomputed for each component, mass fluxes and masses are not.
  template <std::size_t Axis, std::size_t... Others>
  void sweep_momentum(Directions<Others...> others) {
    halo_before_momentum(Axis);
    for (std::size_t component = 0; component < k_dims; ++component) {
      momentum_volumes<Axis>(f, others);
      if (component == 0) {
        node_flux<Axis>(f);
        node_mass<Axis>(f);
      }
      momentum_flux<Axis>(f, f.velocity1[component]);
      velocity_update<Axis>(f, f.velocity1[component]);
    }
  }

  // Sweeps along z or x first, then y, then the other of them.
  template <std::size_t First, std::size_t Last, std::size_t... Others>
  void advect_from(Directions<Others...> others) {
    halo_before_cells();
    sweep_cells<First, true>(Directions<0, 1, 2>{});
    sweep_momentum<First>(others);
    halo_before_cells();
    sweep_cells<1, false>(Directions<1, Last>{});
    sweep_momentum<1>(Directions<Last>{});
    sweep_cells<Last, false>(Directions<Last>{});
    sweep_momentum<Last>(Directions<>{});
  }
  void advect(bool is_odd) override {
    if (is_odd)
      advect_from<0, 2>(Directions<1, 2>{});
    else
      advect_from<2, 0>(Directions<0, 1>{});
  }
};

}  // namespace

const StencilProgram& cloverleaf3d_program() {
  static const CloverleafProgram<Hydro3d> program({"cloverleaf3d",
                                                   "compressible Euler equations, CloverLeaf in 3D", "NxMxL",
                                                   k_dims, k_decks, k_shorter, k_safety, k_loops});
  return program;
}

}  // namespace terrace::stencil::programs
