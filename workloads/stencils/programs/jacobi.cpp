// Solves Poisson's equation on a square by Jacobi iterations: two datasets that alternate.
#include <cmath>
#include <numbers>
#include <string>

#include "core/error.hpp"
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
        "  iterations=N  default 100\n"
        "  chain=N       iterations that run together, behind a chain that sets up the problem; default: all\n"
        "  source=S      of the right side, which is S times the start, S larger than 0; without it there is "
        "none\n" +
        std::string(Checkpointing::k_arguments);
    return text;
  }

  // The boundary is zero, and the right side a product of sines times the source. That product is an
  // eigenvector: each iteration multiplies the error by the same factor.
  [[nodiscard]] std::vector<Result> run(Context& context, Arguments& arguments) const override {
    const auto cells = arguments.number("cells", 256, 1);
    const auto iterations = arguments.number("iterations", 100, 0);
    const auto chain = arguments.number("chain", 0, 1);
    const auto source = arguments.real("source", 0);
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
    const auto first = done;
    if (done == 0) {
      grid.loop(
          "start", range, [] TERRACE_STENCIL_KERNEL(auto u, auto x, auto y) { u() = x() * y(); }, write(u),
          read(across), read(along));
      if (source != 0)
        grid.loop(
            "right side", range,
            [source] TERRACE_STENCIL_KERNEL(auto f, auto x, auto y) { f() = -source * x() * y(); }, write(f),
            read(across), read(along));
    }
    if (chain > 0) context.run();
    const auto setup = context.statistics();
    while (done < iterations) {
      grid.loop(
          "sweep", range,
          [] TERRACE_STENCIL_KERNEL(auto next, auto u, auto f) {
            next() = 0.25 * (u(-1, 0) + u(1, 0) + u(0, -1) + u(0, 1) - f());
          },
          write(next), read(u, star(2, 1)), read(f));
      std::swap(u, next);
      checkpoints.done(++done);
      if (chain > 0 && (done - first) % chain == 0 && done < iterations) context.run();
    }
    auto most = context.maximum<double>();
    grid.loop(
        "largest", range, [] TERRACE_STENCIL_KERNEL(auto u, auto most) { most(u()); }, read(u), into(most));
    const auto top = std::pow(std::sin(step * static_cast<double>((cells + 1) / 2)), 2);
    // An iteration multiplies the amplitude by cos(step) and adds a quarter of the source.
    const auto less = 2 * std::pow(std::sin(0.5 * step), 2);  // 1 - cos(step)
    const auto lost = -std::expm1(static_cast<double>(iterations) * std::log1p(-less));
    const auto amplitude = 1 - lost + 0.25 * source * lost / less;
    std::vector<Result> results{{"largest", most.value(), top * amplitude, 1e-12}};
    if (chain > 0) {
      results.push_back({"setup_seconds", setup.seconds});
      results.push_back({"setup_bytes_in", setup.bytes_in});
    }
    return results;
  }
};

}  // namespace

const StencilProgram& jacobi_program() {
  static const Jacobi program;
  return program;
}

}  // namespace terrace::stencil::programs
