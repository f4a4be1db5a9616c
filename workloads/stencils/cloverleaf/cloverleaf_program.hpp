// Parses the arguments of the CloverLeaf programs and runs them, in two and three dimensions alike.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "workloads/stencils/cloverleaf/hydro.hpp"

namespace terrace::stencil::programs::cloverleaf {

// Differences of the two programs.
struct Edition {
  std::string_view name;
  std::string_view title;
  std::string_view cells;  // size format of its argument: "NxM"
  std::size_t dims = 0;
  std::span<const Deck> decks;
  OtherRun other;
  Safety safety;
  double loops = 0;  // loops of a step
};

// HydroOf supplies the loops.
template <class HydroOf>
class CloverleafProgram final : public StencilProgram {
 public:
  explicit CloverleafProgram(const Edition& edition) : edition_(edition) {
    arguments_ =
        "  problem=NAME  published problem, tp1 to tp5, default tp1\n  cells=" + std::string(edition.cells) +
        "   instead of the problem's\n"
        "  steps=N       instead of the problem's end\n"
        "  summary=N     steps between field summaries, default 10; 0: only at the end\n" +
        std::string(Checkpointing::k_arguments);
  }
  [[nodiscard]] std::string_view name() const override { return edition_.name; }
  [[nodiscard]] std::string_view title() const override { return edition_.title; }
  [[nodiscard]] std::string_view source() const override {
    return "A. Mallinson et al., CloverLeaf: Preparing Hydrodynamics Codes for Exascale, CUG 2013";
  }
  [[nodiscard]] std::string_view arguments() const override { return arguments_; }
  [[nodiscard]] std::vector<Result> run(Context& context, Arguments& arguments) const override {
    Checkpointing checkpoints(context, arguments);
    HydroOf hydro(context,
                  make_problem(arguments, edition_.dims, edition_.decks, edition_.other, edition_.safety));
    return hydro.run(edition_.loops, checkpoints);
  }

 private:
  Edition edition_;
  std::string arguments_;
};

}  // namespace terrace::stencil::programs::cloverleaf
