// Simulates acoustic waves: a standing wave, whose every step is known, or a source in a medium of one or two
// layers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "workloads/stencils/program.hpp"
#include "workloads/stencils/wave/medium.hpp"

namespace terrace::stencil::programs {
namespace {

using std::numbers::pi;
using wave::Medium;

struct Setting {
  std::int64_t cells = 0;
  std::int64_t steps = 0;
  std::int64_t chain = 0;  // steps in a chain
  double courant = 0;      // Courant number: distance of a wave in a step, in cells
};

void require_stable(std::size_t dims, double courant) {
  const auto most = 2 / std::sqrt(static_cast<double>(dims) * wave::symbol(pi));
  if (!(courant > 0 && courant <= most))
    throw Error(Code::invalid, "a wave that comes " + std::to_string(courant) +
                                   " cells far in a step: stable are up to " + std::to_string(most));
}

// Without `steps`, uses as many as a wave takes for `way`, in cells for each of the cells; or 50.
Setting setting_of(Arguments& arguments, std::size_t dims, std::int64_t cells, double courant, double way) {
  Setting setting;
  setting.cells = arguments.number("cells", cells, wave::k_reach);
  setting.courant = arguments.real("courant", courant);
  setting.chain = arguments.number("chain", 8, 1);
  require_stable(dims, setting.courant);
  const auto across = way * static_cast<double>(setting.cells) / setting.courant;
  setting.steps = arguments.number("steps", way > 0 ? std::llround(across) : 50, 1);
  return setting;
}

template <std::size_t Axis>
Line<double, Axis> sines(std::int64_t cells, double angle) {
  Line<double, Axis> line(0, cells);
  for (std::int64_t i = 0; i < cells; ++i) line[i] = std::sin(angle * (static_cast<double>(i) + 0.5));
  return line;
}

// A product of sines is an eigenvector of the differences, images included: a step goes on by the same angle,
// whose cosine follows from the eigenvalue. (The discrete dispersion relation.)
template <std::size_t Dims>
std::vector<Result> run_standing(Context& context, Arguments& arguments) {
  const auto setting = setting_of(arguments, Dims, Dims == 3 ? 64 : 256, 0.4, 0);
  const auto waves = arguments.number("waves", 1, 1);
  arguments.refuse_others();
  const auto cells = setting.cells;
  if (waves < 1 || waves + static_cast<std::int64_t>(Dims) > cells)
    throw Error(Code::invalid, "waves=" + std::to_string(waves) + ": give at least 1, and less than the cells");
  const auto angle = [&](std::int64_t d) {
    return pi * static_cast<double>(waves + d) / static_cast<double>(cells);
  };
  double eigenvalue = 0;
  for (std::size_t d = 0; d < Dims; ++d)
    eigenvalue += setting.courant * setting.courant * wave::symbol(angle(static_cast<std::int64_t>(d)));
  const auto phase = 2 * std::asin(0.5 * std::sqrt(eigenvalue));

  Medium<Dims> medium(context, cells);
  Line<double, Dims - 1> courant(0, cells);
  for (std::int64_t i = 0; i < cells; ++i) courant[i] = setting.courant;
  medium.set_model(courant);
  // A square's only layer has z = 0, where the sine of pi / 2 is 1.
  const auto x = sines<0>(cells, angle(0));
  const auto y = sines<1>(cells, angle(1));
  const auto z = sines<2>(Dims == 3 ? cells : 1, Dims == 3 ? angle(2) : pi);
  medium.grid().loop(
      "start", medium.inner(),
      [before = std::cos(phase)](auto u, auto previous, auto x, auto y, auto z) {
        u() = x() * y() * z();
        previous() = before * u();
      },
      write(medium.now()), write(medium.previous()), read(x), read(y), read(z));
  for (std::int64_t n = 1; n <= setting.steps; ++n) {
    medium.step();
    if (n % setting.chain == 0) context.run();
  }
  auto amplitude = context.sum<double>(), power = context.sum<double>();
  medium.grid().loop(
      "sums", medium.inner(),
      [](auto u, auto x, auto y, auto z, auto amplitude, auto power) {
        amplitude += u() * (x() * y() * z());
        power += u() * u();
      },
      read(medium.now()), read(x), read(y), read(z), into(amplitude), into(power));
  // Divided by the sum of the squared sines, half of the cells in each direction.
  const auto whole = std::pow(0.5 * static_cast<double>(cells), Dims);
  const auto expected = std::cos(static_cast<double>(setting.steps) * phase);
  // Rounding errors of a step propagate as a wave, too, of up to 1 / sin(phase) times their size. The amplitude
  // began as 1.
  const auto rounding =
      4 * std::numeric_limits<double>::epsilon() * static_cast<double>(setting.steps) / std::sin(phase);
  const auto allowed = std::max(1e-12, rounding);
  return {{"amplitude", amplitude.value() / whole, expected, allowed / std::abs(expected)},
          {"power", power.value() / whole, expected * expected, allowed / (expected * expected)}};
}

// Source strength over time: N. Ricker's wavelet, which has begun at 0.
struct Wavelet {
  double frequency;
  [[nodiscard]] double operator()(double t) const {
    if (t < 0) return 0;
    const auto a = std::pow(pi * (frequency * t - 1.5), 2);
    return (1 - 2 * a) * std::exp(-a);
  }
};

// Returns the wave of a source in free space at this distance and time, for speed 1: Green's function with the
// source's strength (P. Morse, K. Ingard, Theoretical Acoustics, 1968, section 7.1). In two dimensions it is
// the wave of a line of sources, whose integral the trapezoidal rule evaluates.
double free_wave(std::size_t dims, const Wavelet& wavelet, double r, double t) {
  if (dims == 3) return wavelet(t - r) / (4 * pi * r);
  if (t <= r) return 0;
  constexpr auto k_parts = 4000;
  const auto part = std::acosh(t / r) / k_parts;
  auto sum = 0.5 * wavelet(t - r);
  for (auto i = 1; i < k_parts; ++i) sum += wavelet(t - r * std::cosh(i * part));
  return sum * part / (2 * pi);
}

// Until a wave reaches a side, it equals the wave in free space.
template <std::size_t Dims>
std::vector<Result> run_source(Context& context, Arguments& arguments) {
  const auto setting = setting_of(arguments, Dims, Dims == 3 ? 96 : 256, 0.2, 0.5);
  const auto cells = setting.cells;
  const auto wavelength = arguments.real("wavelength", 12);
  const auto contrast = arguments.real("contrast", 1);
  arguments.refuse_others();
  require_stable(Dims, setting.courant * contrast);
  const auto distance = 1 / static_cast<double>(cells);
  const auto step = setting.courant * distance;
  Medium<Dims> medium(context, cells);
  Line<double, Dims - 1> courant(0, cells);
  for (std::int64_t i = 0; i < cells; ++i)
    courant[i] = 4 * i < 3 * cells ? setting.courant : setting.courant * contrast;
  medium.set_model(courant);
  const Wavelet wavelet{1 / (wavelength * distance)};
  Point source{0, 0, 0};
  for (std::size_t d = 0; d < Dims; ++d) source[d] = cells / 2;
  const auto share = step * step / std::pow(distance, Dims);  // of a point source
  for (std::int64_t n = 1; n <= setting.steps; ++n) {
    medium.step();
    medium.add(source, share * wavelet(static_cast<double>(n - 1) * step));
    if (n % setting.chain == 0) context.run();
  }
  auto row = medium.inner();
  row.begin = source;
  row.begin[0] += 1;
  for (std::size_t d = 1; d < k_max_dims; ++d) row.end[d] = row.begin[d] + 1;
  const auto found = medium.now().get(row);
  double product = 0, square = 0, misfit = 0;
  const auto t = static_cast<double>(setting.steps) * step;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto exact = free_wave(Dims, wavelet, static_cast<double>(i + 1) * distance, t);
    product += exact * found[i];
    square += exact * exact;
    misfit += std::pow(found[i] - exact, 2);
  }
  std::vector<Result> results{{"time", t}, {"largest", *std::ranges::max_element(found)}};
  if (square > 0) {
    const auto is_free = contrast == 1 && t <= 0.5 + 0.5 * step && wavelength >= 12;
    results.push_back({"over_free_wave", product / square, 1, is_free ? 0.02 : 0});
    results.push_back({"misfit", std::sqrt(misfit / square)});
  }
  return results;
}

class Wave final : public StencilProgram {
 public:
  [[nodiscard]] std::string_view name() const override { return "wave"; }
  [[nodiscard]] std::string_view title() const override { return "acoustic waves, eighth order in space"; }
  [[nodiscard]] std::string_view source() const override {
    return "M. Dablain, The application of high-order differencing to the scalar wave equation, Geophysics 51, "
           "1986";
  }
  [[nodiscard]] std::string_view arguments() const override {
    return "  mode=MODE     standing: a standing wave; source: a point that emits a wavelet\n"
           "  dims=N        2 or 3, default 3\n"
           "  cells=N       points in each direction, default 64; 96 with a source; 256 where dims=2\n"
           "  steps=N       default 50; with a source until its wave comes to the sides\n"
           "  courant=C     how far the wave comes in a step, in cells, default 0.4; 0.2 with a source\n"
           "  chain=N       steps that run together, default 8\n"
           "  waves=N       standing: half waves along x; one more along y, two more along z; default 1\n"
           "  wavelength=L  source: of the wavelet's main frequency, in cells, default 12\n"
           "  contrast=C    source: speed in the last quarter over that elsewhere, default 1";
  }
  [[nodiscard]] std::vector<Result> run(Context& context, Arguments& arguments) const override {
    const auto mode = arguments.text("mode", "standing");
    const auto dims = arguments.number("dims", 3, 2);
    if (dims != 2 && dims != 3) throw Error(Code::invalid, "dims=" + std::to_string(dims) + ": 2 or 3");
    if (mode == "standing")
      return dims == 2 ? run_standing<2>(context, arguments) : run_standing<3>(context, arguments);
    if (mode == "source") return dims == 2 ? run_source<2>(context, arguments) : run_source<3>(context, arguments);
    throw Error(Code::invalid, "mode=" + mode + ": there are standing and source");
  }
};

}  // namespace

const StencilProgram& wave_program() {
  static const Wave program;
  return program;
}

}  // namespace terrace::stencil::programs
