// Implements CNS: the compressible Navier-Stokes equations of one gas in a periodic cube, the proxy application of
// the Center for Exascale Simulation of Combustion in Turbulence (ExaCT). Derivatives are of eighth order on a
// regular grid with 4 ghost layers, explicit Runge-Kutta steps of third order (Shu and Osher, J. Comput. Phys. 77,
// 1988). U are the conserved fields (density, three momenta, energy), Q the primitive ones (density, velocities,
// pressure, temperature), F the hyperbolic terms and D the diffusion; a field's points are contiguous, x first. A
// thread computes one grid point. fill_boundary copies ghost points from the other side, ctoprim computes Q,
// diffterm_1 slopes of velocities and diffterm_2 D, in blocks of 16 x 4 x 4 points. hypterm computes F, one kernel
// per direction, in blocks of 8 points in this direction and 16 in another, with these rows and their ghosts in
// shared memory.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <tuple>

#include "workloads/gpu/cns/plain_flow.hpp"
#include "workloads/gpu/program.hpp"

namespace terrace::gpu_sim {
namespace {

using namespace cns;

using Doubles = Array<double>;
using Number = Value<double>;
using Point = std::array<Value<std::int32_t>, 3>;  // x, y, z

// Returns the point of a thread: coordinates of CTAs and of threads in them are the GPU's own.
Point point(Thread& t, const Cube& cube, const Extent& tile) {
  const Extent tiles{cube.tiles(tile[0]), cube.tiles(tile[1]), cube.tiles(tile[2])};
  const auto b = t.block().needed();
  const auto i = t.thread().needed();
  return {fma(t.own(b % tiles[0]), tile[0], t.own(i % tile[0])),
          fma(t.own(b / tiles[0] % tiles[1]), tile[1], t.own(i / tile[0] % tile[1])),
          fma(t.own(b / tiles[0] / tiles[1]), tile[2], t.own(i / tile[0] / tile[1]))};
}
// A plain number: offsets of a field or a neighbour are free, because the address computation includes them.
std::int32_t index(const Cube& c, const Point& p) { return fma(fma(p[2], c.n, p[1]), c.n, p[0]).needed(); }

class Solver {
 public:
  Solver(Device& device, const PlainFlow& plain)
      : device_(device), inner_(plain.cube), outer_{inner_.n + 2 * k_ghosts}, scale_(plain.cube.scale()) {
    for (const auto* name : {"ux", "uy", "uz", "vx", "vy", "vz", "wx", "wy", "wz"})
      slopes_.push_back(device.array<double>(name, outer_.size(1)));
    for (std::int32_t c = 0; c < k_conserved; ++c)
      for (std::int32_t i = 0; i < inner_.volume(); ++i) u_.host()[place(c, i, k_ghosts)] = plain.u[c][i];
  }

  void step(double dt) {
    for (std::size_t i = 0; i < k_stages.size(); ++i) {
      const auto& from = i == 0 ? u_ : next_;
      fill_boundary(from);
      ctoprim(from);
      diffterm();
      for (std::size_t direction = 0; direction < 3; ++direction) hypterm(from, direction);
      update(from, i + 1 < k_stages.size() ? next_ : u_, k_stages[i][0], k_stages[i][1], dt);
    }
  }
  // Returns the error relative to the largest value of a field.
  [[nodiscard]] std::string compare(const PlainFlow& plain) const {
    Comparison comparison;
    for (std::int32_t c = 0; c < k_conserved; ++c)
      for (const auto& [expected, found, ghosts] :
           {std::tuple{&plain.u[c], &u_, k_ghosts}, {&plain.f[c], &f_, 0}, {&plain.d[c], &d_, 0}}) {
        const auto [least, most] = std::ranges::minmax(*expected);
        const auto floor = std::max({-least, most, 1e-30});
        for (std::int32_t i = 0; i < inner_.volume(); ++i)
          comparison.add(found->host()[place(c, i, ghosts)], (*expected)[i], floor);
      }
    return comparison.verdict("numbers of U, F and D", 1e-11);
  }

 private:
  // Returns the position of point i of field c.
  [[nodiscard]] std::int32_t place(std::int32_t c, std::int32_t i, std::int32_t ghosts) const {
    const auto n = inner_.n, all = n + 2 * ghosts;
    return ((c * all + i / n / n + ghosts) * all + i / n % n + ghosts) * all + i % n + ghosts;
  }
  // Calls back with each point of a cube.
  void launch(const char* name, const Cube& cube, std::uint32_t registers, const auto& call) {
    constexpr Extent tile{16, 4, 4};
    const auto ctas = cube.tiles(tile[0]) * cube.tiles(tile[1]) * cube.tiles(tile[2]);
    device_.launch({name, ctas, 256, registers}, [&](Thread& t) {
      const auto p = point(t, cube, tile);
      if (p[0] < cube.n && p[1] < cube.n && p[2] < cube.n) call(t, p);
    });
  }
  // Computes to = old U + now (from + dt (F + D)).
  void update(const Doubles& from, const Doubles& to, double old, double now, double dt) {
    launch("Unew", inner_, 32, [&](Thread& t, const Point& p) {
      const auto at = index(inner_, p);
      const auto outer = index(outer_, p) + corner_;
      for (std::int32_t c = 0; c < k_conserved; ++c) {
        const auto i = outer + c * outer_.volume();
        const auto d = t.load(d_, at + c * inner_.volume());
        const auto f = t.load(f_, at + c * inner_.volume());
        const auto made = fma(dt, d + f, t.load(from, i));
        t.store(to, i, old == 0 ? made : fma(old, t.load(u_, i), now * made));
      }
    });
  }

  void fill_boundary(const Doubles& u) {
    launch("fill_boundary", outer_, 20, [&](Thread& t, const Point& p) {
      const auto to = index(outer_, p);
      auto from = t.own(to);
      for (std::size_t x = 0; x < 3; ++x) {
        if (p[x] < k_ghosts) from += inner_.n * outer_.stride(x);
        if (p[x] >= inner_.n + k_ghosts) from -= inner_.n * outer_.stride(x);
      }
      if (from == to) return;
      for (std::int32_t c = 0; c < k_conserved; ++c)
        t.store(u, to + c * outer_.volume(), t.load(u, from.needed() + c * outer_.volume()));
    });
  }

  void ctoprim(const Doubles& u) {
    launch("ctoprim", outer_, 32, [&](Thread& t, const Point& p) {
      const auto at = index(outer_, p);
      std::array<Number, k_conserved> amounts;
      for (std::int32_t c = 0; c < k_conserved; ++c) amounts[c] = t.load(u, at + c * outer_.volume());
      const auto inverse = 1.0 / amounts[0];
      auto inner = amounts[k_energy] * inverse;
      t.store(q_, at, amounts[0]);
      for (std::int32_t c = 1; c <= 3; ++c) {
        const auto velocity = amounts[c] * inverse;
        inner = fma(-0.5 * velocity, velocity, inner);
        t.store(q_, at + c * outer_.volume(), velocity);
      }
      t.store(q_, at + k_pressure * outer_.volume(), (k_gamma - 1) * inner * amounts[0]);
      t.store(q_, at + k_temperature * outer_.volume(), inner * (1 / k_heat));
    });
  }
  // Returns values of a field at a point: the first, or the second if the value at the point itself is given.
  [[nodiscard]] Number derivative(Thread& t, const Doubles& field, std::int32_t at, std::int32_t stride,
                                  const Number* middle = nullptr) const {
    std::array<std::array<Number, 2>, k_ghosts> sides;  // loads first, as a compiler orders them
    for (std::int32_t k = 0; k < k_ghosts; ++k)
      sides[k] = {t.load(field, at + (k + 1) * stride), t.load(field, at - (k + 1) * stride)};
    auto sum = middle != nullptr ? k_second[0] * *middle : t.own(0.0);
    for (std::size_t k = 0; k < k_ghosts; ++k)
      sum = middle != nullptr ? fma(k_second[k + 1], sides[k][0] + sides[k][1], sum)
                              : fma(k_first[k], sides[k][0] - sides[k][1], sum);
    return sum * (middle != nullptr ? scale_ * scale_ : scale_);
  }

  void diffterm() {
    // Slopes in a direction are needed in ghost points of the other two.
    launch("diffterm_1", outer_, 40, [&](Thread& t, const Point& p) {
      const auto at = index(outer_, p);
      for (const auto direction : t.range(std::size_t{0}, std::size_t{3})) {
        const auto x = direction.needed();
        if (p[x] < k_ghosts || p[x] >= inner_.n + k_ghosts) continue;
        for (std::int32_t v = 0; v < 3; ++v)
          t.store(slopes_[3 * v + x], at, derivative(t, q_, at + (v + 1) * outer_.volume(), outer_.stride(x)));
      }
    });
    launch("diffterm_2", inner_, 63, [&](Thread& t, const Point& p) {
      const auto at = index(outer_, p) + corner_;
      const auto to = index(inner_, p);
      t.store(d_, to, 0.0);
      std::array<Number, 9> slope;
      for (std::size_t i = 0; i < slope.size(); ++i) slope[i] = t.load(slopes_[i], at);
      const auto growth = (slope[0] + slope[4] + slope[8]) * (2.0 / 3);
      auto energy = t.own(0.0);  // first the work of the stresses on the slopes
      for (std::size_t v = 0; v < 3; ++v) {
        energy = fma(2.0 * slope[4 * v] - growth, slope[4 * v], energy);
        const auto shear = slope[3 * v + (v + 1) % 3] + slope[3 * ((v + 1) % 3) + v];
        energy = fma(shear, shear, energy);
      }
      energy *= k_viscosity;
      for (const auto v : {0, 1, 2, k_temperature - 1}) {
        const auto from = at + (v + 1) * outer_.volume();
        const auto amount = t.load(q_, from);
        auto sum = t.own(0.0);
        for (std::int32_t x = 0; x < 3; ++x)
          sum = fma(v == x ? 4.0 / 3 : 1.0, derivative(t, q_, from, outer_.stride(x), &amount), sum);
        if (v < 3) {
          for (std::int32_t x = 0; x < 3; ++x)
            if (v != x) sum = fma(1.0 / 3, derivative(t, slopes_[4 * x], at, outer_.stride(v)), sum);
          sum *= k_viscosity;
          t.store(d_, to + (v + 1) * inner_.volume(), sum);
        }
        energy = fma(v < 3 ? amount : t.own(k_conductivity), sum, energy);
      }
      t.store(d_, to + k_energy * inner_.volume(), energy);
    });
  }
  // Adds a direction's part to F; the first direction initialises F.
  void hypterm(const Doubles& u, std::size_t direction) {
    const auto across = direction == 0 ? std::size_t{2} : std::size_t{0};
    const auto tile = direction == 0   ? Extent{k_along, 1, k_across}
                      : direction == 1 ? Extent{k_across, k_along, 1}
                                       : Extent{k_across, 1, k_along};
    constexpr const char* names[]{"hypterm_x", "hypterm_y", "hypterm_z"};
    const auto ctas = inner_.tiles(k_along) * inner_.tiles(k_across) * inner_.n;
    const auto velocity = static_cast<std::int32_t>(direction) + 1;
    Shared<double> rows(k_rows * k_row);
    device_.launch({names[direction], ctas, k_along * k_across, 40, rows.bytes()}, [&](Thread& t) -> ThreadRun {
      const auto p = point(t, inner_, tile);
      const auto i = t.thread().needed();
      const auto mine = direction == 0 ? i % k_along * k_across + i / k_along : i;  // in a field's rows
      const bool inside = p[across] < inner_.n;
      for (std::int32_t more = 0; inside && more < 2 * k_ghosts + k_along; more += k_along) {
        if (p[direction] + more >= outer_.n) break;
        const auto at = index(outer_, p) + corner_ + (more - k_ghosts) * outer_.stride(direction);
        std::array<Number, k_rows> loaded{t.load(q_, at + velocity * outer_.volume()),
                                          t.load(q_, at + k_pressure * outer_.volume())};
        for (std::int32_t c = 1; c < k_conserved; ++c) loaded[c + 1] = t.load(u, at + c * outer_.volume());
        for (std::int32_t row = 0; row < k_rows; ++row)
          t.write(rows.span(), row * k_row + more * k_across + mine, loaded[row]);
      }
      co_await t.barrier();
      if (!inside || p[direction] >= inner_.n) co_return;
      const auto flux = [&](std::int32_t distance) {
        const auto at = mine + (k_ghosts + distance) * k_across;
        const auto speed = t.read(rows.span(), at);
        const auto pressure = t.read(rows.span(), k_row + at);
        std::array<Number, k_conserved> fluxes;
        for (std::int32_t c = 1; c < k_conserved; ++c) {
          const auto amount = t.read(rows.span(), (c + 1) * k_row + at);
          if (c == velocity) fluxes[0] = amount;
          fluxes[c] = (c == k_energy ? amount + pressure : amount) * speed;
          if (c == velocity) fluxes[c] += pressure;
        }
        return fluxes;
      };
      std::array<Number, k_conserved> sums;
      for (std::int32_t k = 1; k <= k_ghosts; ++k) {
        const auto above = flux(k);
        const auto below = flux(-k);
        for (std::size_t c = 0; c < sums.size(); ++c) sums[c] = fma(k_first[k - 1], above[c] - below[c], sums[c]);
      }
      for (std::int32_t c = 0, at = index(inner_, p); c < k_conserved; ++c, at += inner_.volume())
        t.store(f_, at, direction == 0 ? -sums[c] * scale_ : fma(-sums[c], scale_, t.load(f_, at)));
    });
  }

  static constexpr std::int32_t k_along = 8;
  static constexpr std::int32_t k_across = 16;
  static constexpr std::int32_t k_rows = 6;  // fields in shared memory: velocity, pressure, momenta, energy
  static constexpr std::int32_t k_row = (k_along + 2 * k_ghosts) * k_across;  // values of one of them
  Device& device_;
  Cube inner_;
  Cube outer_;
  double scale_;
  std::int32_t corner_ = k_ghosts * (1 + outer_.n + outer_.n * outer_.n);  // the first inner point
  Doubles u_ = device_.array<double>("U", outer_.size(k_conserved));
  Doubles next_ = device_.array<double>("Unew", outer_.size(k_conserved));
  Doubles q_ = device_.array<double>("Q", outer_.size(6));
  Doubles d_ = device_.array<double>("D", inner_.size(k_conserved));
  Doubles f_ = device_.array<double>("F", inner_.size(k_conserved));
  std::vector<Doubles> slopes_;
};

class Cns final : public GpuProgram {
 public:
  [[nodiscard]] std::string_view name() const override { return "cns"; }
  [[nodiscard]] std::string_view title() const override { return "Compressible flow by finite differences"; }
  [[nodiscard]] std::string_view source() const override { return "CNS proxy application, ExaCT centre"; }
  // Numbers: points in each direction, steps.
  [[nodiscard]] const std::vector<ProgramSize>& sizes() const override {
    static const std::vector<ProgramSize> sizes{{"test", {9, 1}, ""},
                                                {"paper", {48, 1}, "48^3 of the 128^3 points, 1 of the 5 steps"}};
    return sizes;
  }
  [[nodiscard]] std::optional<std::size_t> iterations() const override { return 1; }

  [[nodiscard]] std::string run(Device& device, const std::vector<std::int64_t>& numbers) const override {
    const Cube cube{static_cast<std::int32_t>(numbers[0])};
    PlainFlow plain{cube, first_state(cube)};
    Solver solver(device, plain);
    const auto dt = 0.5 / (k_fastest * cube.scale());  // a Courant number of a half
    for (std::int64_t k = 0; k < numbers[1]; ++k) {
      solver.step(dt);
      plain.step(dt);
    }
    return solver.compare(plain);
  }
};

}  // namespace

const GpuProgram& cns_program() {
  static const Cns program;
  return program;
}

}  // namespace terrace::gpu_sim
