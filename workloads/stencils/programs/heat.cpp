// Solves the heat equation by explicit steps of second order in space, in two or three dimensions: two datasets
// that alternate, without a result in between.
#include <array>
#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "workloads/stencils/program.hpp"

namespace terrace::stencil::programs {
namespace {

// Walls are at 0: a product of sines is an eigenvector, and each step multiplies it by the same factor.
template <std::size_t Dims>
std::vector<Result> solve(Context& context, std::int64_t cells, std::int64_t steps, std::int64_t chain) {
  const auto grid = context.block("grid", std::vector<std::ptrdiff_t>(Dims, cells));
  const auto range = grid.range();
  Halo halo;
  for (std::size_t d = 0; d < Dims; ++d) {
    halo.low[d] = -1;
    halo.high[d] = 1;
  }
  auto u = grid.dataset<double>("u", halo), next = grid.dataset<double>("next", halo);
  const auto angle = std::numbers::pi / static_cast<double>(cells + 1);
  Line<double, 0> x(0, cells);
  Line<double, 1> y(0, cells);
  Line<double, 2> z(0, Dims == 3 ? cells : 1);
  for (std::int64_t i = 0; i < cells; ++i) x[i] = y[i] = std::sin(angle * static_cast<double>(i + 1));
  for (std::int64_t i = 0; i < z.end(); ++i) z[i] = Dims == 3 ? x[i] : 1;
  grid.loop(
      "start", range, [] TERRACE_STENCIL_KERNEL(auto u, auto x, auto y, auto z) { u() = x() * y() * z(); },
      write(u), read(x), read(y), read(z));
  constexpr double k_part = 1.0 / (4.0 * Dims);  // fraction of the maximum stable step
  for (std::int64_t step = 1; step <= steps; ++step) {
    grid.loop(
        "step", range,
        [] TERRACE_STENCIL_KERNEL(auto next, auto u) {
          double around = u(-1, 0) + u(1, 0) + u(0, -1) + u(0, 1);
          if constexpr (Dims == 3) around += u(0, 0, -1) + u(0, 0, 1);
          next() = u() + k_part * (around - 2.0 * Dims * u());
        },
        write(next), read(u, star(Dims, 1)));
    std::swap(u, next);
    if (chain > 0 && step % chain == 0) context.run();
  }
  auto most = context.maximum<double>();
  grid.loop(
      "largest", range, [] TERRACE_STENCIL_KERNEL(auto u, auto most) { most(u()); }, read(u), into(most));
  const auto top = std::pow(x[(cells - 1) / 2], Dims);
  const auto factor = 1.0 - k_part * 2.0 * Dims * (1.0 - std::cos(angle));
  return {{"largest", most.value(), top * std::pow(factor, static_cast<double>(steps)), 1e-12}};
}

class Heat final : public StencilProgram {
 public:
  [[nodiscard]] std::string_view name() const override { return "heat"; }
  [[nodiscard]] std::string_view title() const override { return "heat equation, explicit, second order"; }
  [[nodiscard]] std::string_view source() const override {
    return "R. LeVeque, Finite Difference Methods for Ordinary and Partial Differential Equations, 2007, chapter "
           "9";
  }
  [[nodiscard]] std::string_view arguments() const override {
    return "  dims=2|3   default 2\n"
           "  cells=N    points in each direction, default 128\n"
           "  steps=N    default 50\n"
           "  chain=N    steps after which the chain runs, default all";
  }

  [[nodiscard]] std::vector<Result> run(Context& context, Arguments& arguments) const override {
    const auto dims = arguments.number("dims", 2, 2);
    const auto cells = arguments.number("cells", 128, 1);
    const auto steps = arguments.number("steps", 50, 0);
    const auto chain = arguments.number("chain", 0, 1);
    arguments.refuse_others();
    if (dims == 2) return solve<2>(context, cells, steps, chain);
    if (dims == 3) return solve<3>(context, cells, steps, chain);
    throw Error(Code::invalid, "dims=" + std::to_string(dims) + ": heat has 2 or 3 dimensions");
  }
};

}  // namespace

const StencilProgram& heat_program() {
  static const Heat program;
  return program;
}

}  // namespace terrace::stencil::programs
