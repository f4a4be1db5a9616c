// Poisson's equation on a square by Jacobi's iterations: two datasets that take turns.
#include <cmath>
#include <numbers>
#include <string>

#include "workloads/stencils/checkpointing.hpp"
#include "workloads/stencils/program.hpp"

namespace terrace::stencil::programs {
namespace {

class Jacobi final : public StencilProgram {
 public:
  [[nodiscard]] std::string_view name() const override { return "jacobi"; }
  [[nodiscard]] std::string_view title() const override { return "Poisson's equation by Jacobi's iterations"; }
  [[nodiscard]] std::string_view source() const override {
    return "Y. Saad, Iterative Methods for Sparse Linear Systems, 2003, section 4.1";
  }
  [[nodiscard]] std::string_view arguments() const override {
    static const auto text =
        "  cells=N       points in each direction, default 256\n"
        "  iterations=N  default 100\n" +
        std::string(Checkpointing::k_arguments);
    return text;
  }

  // The right side is zero, and so is the boundary: a product of sines is an eigenvector, so that each iteration
  // multiplies it by the same factor.
  [[nodiscard]] std::vector<Result> run(Context& context, Arguments& arguments) const override {
    const auto cells = arguments.number("cells", 256, 1);
    const auto iterations = arguments.number("iterations", 100, 0);
    Checkpointing checkpoints(context, arguments);
    arguments.refuse_others();
    const auto grid = context.block("grid", {cells, cells});
    const auto range = grid.range();
    auto u = grid.dataset<double>("u", {{-1, -1}, {1, 1}});
    auto next = grid.dataset<double>("next", {{-1, -1}, {1, 1}});
    const auto f = grid.dataset<double>("f");
    const auto step = std::numbers::pi / static_cast<double>(cells + 1);
    Line<double, 0> across(0, cells);
    Line<double, 1> along(0, cells);
    for (std::int64_t i = 0; i < cells; ++i) across[i] = along[i] = std::sin(step * static_cast<double>(i + 1));
    auto done = checkpoints.begin(iterations);
    if (done % 2 != 0) std::swap(u, next);
    if (done == 0)
      grid.loop(
          "start", range, [] TERRACE_STENCIL_KERNEL(auto u, auto x, auto y) { u() = x() * y(); }, write(u),
          read(across), read(along));
    while (done < iterations) {
      grid.loop(
          "sweep", range,
          [] TERRACE_STENCIL_KERNEL(auto next, auto u, auto f) {
            next() = 0.25 * (u(-1, 0) + u(1, 0) + u(0, -1) + u(0, 1) - f());
          },
          write(next), read(u, star(2, 1)), read(f));
      std::swap(u, next);
      checkpoints.done(++done);
    }
    auto most = context.maximum<double>();
    grid.loop(
        "largest", range, [] TERRACE_STENCIL_KERNEL(auto u, auto most) { most(u()); }, read(u), into(most));
    const auto top = std::pow(std::sin(step * static_cast<double>((cells + 1) / 2)), 2);
    return {{"largest", most.value(), top * std::pow(std::cos(step), static_cast<double>(iterations)), 1e-12}};
  }
};

}  // namespace

const StencilProgram& jacobi_program() {
  static const Jacobi program;
  return program;
}

}  // namespace terrace::stencil::programs
