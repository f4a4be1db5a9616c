// Runs the time steps of CloverLeaf in two and three dimensions, and returns its results. Loops that differ are in
// the programs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "workloads/stencils/checkpointing.hpp"
#include "workloads/stencils/cloverleaf/advection.hpp"
#include "workloads/stencils/cloverleaf/deck.hpp"
#include "workloads/stencils/cloverleaf/halo.hpp"
#include "workloads/stencils/cloverleaf/thermodynamics.hpp"

namespace terrace::stencil::programs::cloverleaf {

template <std::size_t Dims>
class Hydro {
 public:
  Hydro(Context& context, const Problem& problem)
      : problem_(problem),
        f(context, problem.deck),
        context_(context),
        min_dt_(context.minimum<double>()),
        summing_(context) {}
  virtual ~Hydro() = default;
  Hydro(const Hydro&) = delete;
  Hydro& operator=(const Hydro&) = delete;

  // Runs until the problem's end criterion. Counts the loops of the first step.
  [[nodiscard]] std::vector<Result> run(double expected_loops, Checkpointing& checkpoints) {
    auto step = checkpoints.begin(std::numeric_limits<std::int64_t>::max());
    const auto first = step;
    const auto is_new = step == 0;
    if (is_new) start();
    auto summary = summing_(f);
    auto t = is_new ? 0 : checkpoints.numbers().real("t");
    auto dt = is_new ? problem_.deck.dt_init : checkpoints.numbers().real("dt");
    std::uint64_t loops = 0;
    auto is_over = !is_new && problem_.is_over(t, step);
    while (!is_over) {
      const auto before = loops_so_far();
      dt = advance(dt, ++step);
      if (loops == 0) loops = loops_so_far() - before;
      t += dt;
      checkpoints.numbers().set("t", t);
      checkpoints.numbers().set("dt", dt);
      checkpoints.done(step);
      is_over = problem_.is_over(t, step);
      if (is_over || (problem_.summary > 0 && step % problem_.summary == 0)) summary = summing_(f);
    }
    const auto& published = problem_.published;
    std::vector<Result> results{{"ke", summary.kinetic, published.kinetic, published.is_held ? k_allowed : 0},
                                {"vol", summary.volume},
                                {"mass", summary.mass},
                                {"pressure", summary.pressure / summary.volume},
                                {"ie", summary.internal},
                                {"t", t},
                                {"dt", dt},
                                {"steps", static_cast<double>(step)},
                                // Steps of this run, which may have begun at a checkpoint.
                                {"steps_run", static_cast<double>(step - first)}};
    // Zero if the last checkpoint was the end.
    if (loops > 0) results.push_back({"loops_per_step", static_cast<double>(loops), expected_loops, 1e-12});
    return results;
  }

  // Returns the length of a step. Public, because nvcc takes no kernels of private functions.
  [[nodiscard]] double time_step(double last_dt) {
    cell_dt();
    f.grid.loop(
        "least time step", f.cells(), [] TERRACE_STENCIL_KERNEL(auto least, auto dt) { least(dt()); },
        into(min_dt_), read(f.work1));
    const auto dt = std::min({min_dt_.value(), problem_.safety.growth * last_dt, problem_.deck.dt_init});
    // The published codes print here where the minimum was.
    f.grid.loop(
        "position of the least", Range{{0, 1}, {0, 1}, {0, 1}},
        [] TERRACE_STENCIL_KERNEL(auto /*x*/, auto /*y*/) {}, read(f.template axis<0>().centre),
        read(f.template axis<1>().centre));
    if (!(dt >= problem_.dt_min))
      throw Error(Code::failed, "the time step is " + std::to_string(dt / problem_.dt_min) +
                                    " of the least one allowed: the problem has become unstable");
    return dt;
  }

 protected:
  virtual void viscosity() = 0;
  // Computes the maximum step of each cell (1).
  virtual void cell_dt() = 0;
  // Applies the pressure's work: half a step with the initial velocities, then a whole one with those of both
  // ends.
  virtual void predictor(double dt) = 0;
  virtual void corrector(double dt) = 0;
  virtual void accelerate(double dt) = 0;
  virtual void volume_fluxes(double dt) = 0;
  virtual void advect(bool is_odd) = 0;

  void halo(const Exchange<Dims>& exchange, std::ptrdiff_t depth) const { update_halo(f, exchange, depth); }

  const Problem problem_;
  const Fields<Dims> f;  // short name, because all formulas use it

 private:
  [[nodiscard]] std::uint64_t loops_so_far() const {
    return context_.statistics().loops + context_.waiting().size();
  }

  void start() {
    set_initial_state(f, problem_.deck.dense);
    equation_of_state(f, f.density0, f.energy0);
    // The published code also updates the halos of the end-of-step fields: these are 0 everywhere.
    Exchange<Dims> all;
    all.cells = {f.density0, f.energy0, f.pressure, f.viscosity};
    for (std::size_t d = 0; d < Dims; ++d) all.velocities[d] = {f.velocity0[d]};
    halo(all, 2);
  }

  // Runs one step and returns its length.
  [[nodiscard]] double advance(double last_dt, std::int64_t step) {
    equation_of_state(f, f.density0, f.energy0);
    Exchange<Dims> exchange;
    exchange.cells = {f.pressure, f.energy0, f.density0};
    // Omits the third component, as published: nothing reads its halo.
    for (std::size_t d = 0; d < 2; ++d) exchange.velocities[d] = {f.velocity0[d]};
    halo(exchange, 1);
    viscosity();
    halo({.cells = {f.viscosity}}, 1);
    const auto dt = time_step(last_dt);
    predictor(dt);
    equation_of_state(f, f.density1, f.energy1);
    halo({.cells = {f.pressure}}, 1);
    revert(f);
    accelerate(dt);
    corrector(dt);
    volume_fluxes(dt);
    advect(step % 2 == 1);
    reset(f);
    return dt;
  }

  Context& context_;
  Minimum<double> min_dt_;
  Summing<Dims> summing_;
};

}  // namespace terrace::stencil::programs::cloverleaf
