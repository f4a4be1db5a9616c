// Declares the flow of the program taylor_green in one eighth of its cube: datasets, loops, and time steps.
//
// The vortex is periodic in a cube of side 2 pi. At the planes 0 and pi of each direction its mirror image is
// itself, for all time: the velocity across the plane is odd, all else is even. So the cube of side pi with
// mirrors at its sides has the whole flow. Points are at the centres of cells, (i + 1/2) h, so that the mirrors
// are halfway between points. A halo that repeats the other end of the grid would make each tile depend on the
// other end; a mirror reads next to itself.
//
// As OpenSBLI's vortex (I. Reguly et al., MCHPC 2017, section 5.1) it has 29 datasets: 5 conserved quantities, 5
// of the time scheme's second register, 5 rates of change, 3 velocities, pressure, temperature, 9 derivatives of
// velocities. And it has 27 loops: start, save, 12 mirrors (6 sides, 2 layers), state (velocities, pressure,
// temperature), 9 derivatives, rates, advance, sums.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include "workloads/stencils/taylor_green/equations.hpp"

namespace terrace::stencil::programs::taylor_green {

// Averages over the cube.
struct Means {
  double time = 0;
  double mass = 0;
  double energy = 0;  // kinetic and internal
  double kinetic_energy = 0;
  double enstrophy = 0;    // (curl u)^2 / 2
  double dissipation = 0;  // viscous dissipation per unit of time
};

using Field = Dataset<double>;

class Flow {
 public:
  // Points in each direction of the eighth.
  Flow(Context& context, const std::string& name, std::int64_t cells, const Gas& gas)
      : context_(&context),
        cells_(cells),
        gas_(gas),
        distance_(std::numbers::pi / static_cast<double>(cells)),
        grid_(context.block(name, {cells, cells, cells})) {
    static const std::array<std::string, 5> conserved{"rho", "rho u", "rho v", "rho w", "rho E"};
    static const std::array<std::string, 3> velocities{"u", "v", "w"}, axes{"x", "y", "z"};
    const Halo around{{-k_reach, -k_reach, -k_reach}, {k_reach, k_reach, k_reach}};
    for (std::size_t q = 0; q < conserved.size(); ++q) {
      now_[q] = grid_.dataset<double>(conserved[q], around);
      saved_[q] = grid_.dataset<double>("saved " + conserved[q]);
      rate_[q] = grid_.temporary<double>("rate of " + conserved[q]);
    }
    for (std::size_t d = 0; d < 3; ++d) velocity_[d] = grid_.temporary<double>(velocities[d], around);
    pressure_ = grid_.temporary<double>("p", around);
    temperature_ = grid_.temporary<double>("T", around);
    for (std::size_t d = 0; d < 3; ++d)
      for (std::size_t axis = 0; axis < 3; ++axis) {
        slope_names_[d][axis] = "d" + velocities[d] + "/d" + axes[axis];
        slope_ranges_[d][axis] = slope_range(d, axis);
        slope_[d][axis] = grid_.temporary<double>(slope_names_[d][axis], halo_of(slope_ranges_[d][axis]));
      }
    mass_ = context.sum<double>();
    energy_ = context.sum<double>();
    kinetic_ = context.sum<double>();
    enstrophy_ = context.sum<double>();
    dissipation_ = context.sum<double>();
    start();
  }

  [[nodiscard]] const std::array<Field, 5>& conserved() const { return now_; }
  [[nodiscard]] const Range& inner() const { return grid_.range(); }

  void step(double length) {
    // Runs a Runge-Kutta step of three stages and third order. A new state is the second register plus a
    // fraction of the rates; another fraction stays in the register, which ends as the new state. The form is
    // P. van der Houwen's: C. Kennedy, M. Carpenter, R. Lewis, Applied Numerical Mathematics 35, 2000.
    constexpr std::array<std::array<double, 2>, 3> stages{
        {{2. / 3, 1. / 4}, {5. / 12, 3. / 20}, {3. / 5, 3. / 5}}};
    for (const auto& [to_state, to_register] : stages) {
      find_slopes();
      find_rates();
      advance(to_state * length, to_register * length);
    }
    time_ += length;
  }

  // Runs what waits.
  void run() {
    for (const auto& loop : context_->waiting()) {
      loops_.insert(loop.name);
      for (const auto& argument : loop.arguments) {
        datasets_.insert(argument.dataset);
        if (!reads(argument.access)) continue;
        stencils_.insert(argument.stencil.offsets());
        if (loop.name.starts_with("mirror ")) mirror_stencils_.insert(argument.stencil.offsets());
      }
    }
    context_->run();
  }

  // Runs what waits.
  [[nodiscard]] Means means() {
    find_slopes();
    const auto& [u, v, w] = slope_;
    grid_.loop("sums", inner(), Sums{gas_.viscosity()}, read(now_[0]), read(now_[4]), read(velocity_[0]),
               read(velocity_[1]), read(velocity_[2]), read(u[0]), read(u[1]), read(u[2]), read(v[0]), read(v[1]),
               read(v[2]), read(w[0]), read(w[1]), read(w[2]), into(mass_), into(energy_), into(kinetic_),
               into(enstrophy_), into(dissipation_));
    run();
    const auto points = static_cast<double>(inner().points());
    return {time_,
            mass_.value() / points,
            energy_.value() / points,
            kinetic_.value() / points,
            enstrophy_.value() / points,
            dissipation_.value() / points};
  }

  // Number of distinct loops that have run.
  [[nodiscard]] std::size_t loops() const { return loops_.size(); }
  [[nodiscard]] std::size_t datasets() const { return datasets_.size(); }
  [[nodiscard]] std::size_t stencils() const { return stencils_.size(); }
  // Number of loops of mirrors among them: each layer has another image.
  [[nodiscard]] std::size_t mirror_stencils() const { return mirror_stencils_.size(); }

 private:
  // Returns the grid with its halo along some of the axes.
  [[nodiscard]] Range wide(bool x, bool y, bool z) const {
    auto range = inner();
    const std::array<bool, 3> is_wide{x, y, z};
    for (std::size_t d = 0; d < 3; ++d) {
      if (!is_wide[d]) continue;
      range.begin[d] -= k_reach;
      range.end[d] += k_reach;
    }
    return range;
  }
  // Mixed second derivatives read du/dx in the halo, along y and z.
  [[nodiscard]] Range slope_range(std::size_t d, std::size_t axis) const {
    return d == axis ? wide(axis != 0, axis != 1, axis != 2) : inner();
  }
  [[nodiscard]] Halo halo_of(const Range& range) const {
    Halo halo;
    for (std::size_t d = 0; d < 3; ++d) {
      halo.low[d] = range.begin[d] - inner().begin[d];
      halo.high[d] = range.end[d] - inner().end[d];
    }
    return halo;
  }

  void start();
  void find_slopes();
  void find_rates();
  void advance(double to_state, double to_register);
  template <std::size_t Axis>
  void mirror();
  template <std::size_t Axis>
  void find_slope(std::size_t d);

  Context* context_;
  std::int64_t cells_;
  Gas gas_;
  double distance_;
  Block grid_;
  std::array<Field, 5> now_, saved_, rate_;
  std::array<Field, 3> velocity_;
  Field pressure_, temperature_;
  std::array<std::array<Field, 3>, 3> slope_;  // by velocity component and axis
  std::array<std::array<std::string, 3>, 3> slope_names_;
  std::array<std::array<Range, 3>, 3> slope_ranges_;
  Sum<double> mass_, energy_, kinetic_, enstrophy_, dissipation_;
  double time_ = 0;
  std::set<std::string> loops_;
  std::set<DatasetId> datasets_;
  std::set<std::vector<Point>> stencils_, mirror_stencils_;
};

// Sets a vortex of uniform temperature with the pressure of the incompressible flow: G. Taylor, A. Green,
// Proceedings of the Royal Society A 158, 1937.
inline void Flow::start() {
  Line<double, 0> sin_x(0, cells_), cos_x(0, cells_);
  Line<double, 1> sin_y(0, cells_), cos_y(0, cells_);
  Line<double, 2> cos_z(0, cells_);
  for (std::int64_t i = 0; i < cells_; ++i) {
    const auto at = (static_cast<double>(i) + 0.5) * distance_;
    sin_x[i] = sin_y[i] = std::sin(at);
    cos_x[i] = cos_y[i] = cos_z[i] = std::cos(at);
  }
  grid_.loop(
      "start", inner(),
      [constant = gas_.constant(), gamma = gas_.gamma](auto rho, auto rho_u, auto rho_v, auto rho_w, auto rho_e,
                                                       auto sin_x, auto cos_x, auto sin_y, auto cos_y,
                                                       auto cos_z) {
        const auto u = sin_x() * cos_y() * cos_z(), v = -cos_x() * sin_y() * cos_z();
        const auto cos_2x_2y = 2 * (cos_x() * cos_x() + cos_y() * cos_y() - 1);
        const auto p = constant + cos_2x_2y * (2 * cos_z() * cos_z() + 1) / 16;
        rho() = p / constant;
        rho_u() = rho() * u;
        rho_v() = rho() * v;
        rho_w() = 0;
        rho_e() = p / (gamma - 1) + 0.5 * rho() * (u * u + v * v);
      },
      write(now_[0]), write(now_[1]), write(now_[2]), write(now_[3]), write(now_[4]), read(sin_x), read(cos_x),
      read(sin_y), read(cos_y), read(cos_z));
  grid_.loop(
      "save", inner(),
      [](auto a, auto b, auto c, auto d, auto e, auto from_a, auto from_b, auto from_c, auto from_d, auto from_e) {
        a() = from_a();
        b() = from_b();
        c() = from_c();
        d() = from_d();
        e() = from_e();
      },
      write(saved_[0]), write(saved_[1]), write(saved_[2]), write(saved_[3]), write(saved_[4]), read(now_[0]),
      read(now_[1]), read(now_[2]), read(now_[3]), read(now_[4]));
}

template <std::size_t Axis>
void Flow::mirror() {
  // Includes the halos of earlier axes, so that edges and corners are filled, too.
  for (const auto& layers : MirrorLayers::of(wide(Axis > 0, Axis > 1, false), Axis, k_reach))
    grid_.loop(
        layers.name, layers.range,
        [side = layers.side](auto rho, auto rho_u, auto rho_v, auto rho_w, auto rho_e, auto point) {
          const auto image = MirrorLayers::image(side, point[Axis]);
          rho() = at<Axis>(rho, image);
          rho_u() = Axis == 0 ? -at<Axis>(rho_u, image) : at<Axis>(rho_u, image);
          rho_v() = Axis == 1 ? -at<Axis>(rho_v, image) : at<Axis>(rho_v, image);
          rho_w() = Axis == 2 ? -at<Axis>(rho_w, image) : at<Axis>(rho_w, image);
          rho_e() = at<Axis>(rho_e, image);
        },
        read_write(now_[0], layers.stencil), read_write(now_[1], layers.stencil),
        read_write(now_[2], layers.stencil), read_write(now_[3], layers.stencil),
        read_write(now_[4], layers.stencil), index());
}

template <std::size_t Axis>
void Flow::find_slope(std::size_t d) {
  grid_.loop(
      slope_names_[d][Axis], slope_ranges_[d][Axis],
      [weights = Weights(distance_)](auto slope, auto of) { slope() = first_difference<Axis>(of, weights); },
      write(slope_[d][Axis]), read(velocity_[d], along(Axis)));
}

inline void Flow::find_slopes() {
  mirror<0>();
  mirror<1>();
  mirror<2>();
  grid_.loop("state", wide(true, true, true), State(gas_), write(velocity_[0]), write(velocity_[1]),
             write(velocity_[2]), write(pressure_), write(temperature_), read(now_[0]), read(now_[1]),
             read(now_[2]), read(now_[3]), read(now_[4]));
  for (std::size_t d = 0; d < 3; ++d) {
    find_slope<0>(d);
    find_slope<1>(d);
    find_slope<2>(d);
  }
}

inline void Flow::find_rates() {
  const auto all = star(3, k_reach);
  const auto& [u, v, w] = slope_;
  grid_.loop("rates", inner(), Rates(gas_, Weights(distance_)), write(rate_[0]), write(rate_[1]), write(rate_[2]),
             write(rate_[3]), write(rate_[4]), read(now_[0], all), read(now_[1], all), read(now_[2], all),
             read(now_[3], all), read(now_[4], all), read(velocity_[0], all), read(velocity_[1], all),
             read(velocity_[2], all), read(pressure_, all), read(temperature_, all), read(u[0], along(1, 2)),
             read(u[1]), read(u[2]), read(v[0]), read(v[1], along(0, 2)), read(v[2]), read(w[0]), read(w[1]),
             read(w[2], along(0, 1)));
}

inline void Flow::advance(double to_state, double to_register) {
  const auto one = [](auto now, auto saved, auto rate, double a, double b) {
    now() = saved() + a * rate();
    saved() += b * rate();
  };
  grid_.loop(
      "advance", inner(),
      [one, a = to_state, b = to_register](auto rho, auto rho_u, auto rho_v, auto rho_w, auto rho_e,
                                           auto saved_rho, auto saved_u, auto saved_v, auto saved_w, auto saved_e,
                                           auto rate_rho, auto rate_u, auto rate_v, auto rate_w, auto rate_e) {
        one(rho, saved_rho, rate_rho, a, b);
        one(rho_u, saved_u, rate_u, a, b);
        one(rho_v, saved_v, rate_v, a, b);
        one(rho_w, saved_w, rate_w, a, b);
        one(rho_e, saved_e, rate_e, a, b);
      },
      write(now_[0]), write(now_[1]), write(now_[2]), write(now_[3]), write(now_[4]), read_write(saved_[0]),
      read_write(saved_[1]), read_write(saved_[2]), read_write(saved_[3]), read_write(saved_[4]), read(rate_[0]),
      read(rate_[1]), read(rate_[2]), read(rate_[3]), read(rate_[4]));
}

}  // namespace terrace::stencil::programs::taylor_green
