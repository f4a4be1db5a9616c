// SPDX-License-Identifier: Apache-2.0
// Implements the planner of `--planner soar`: SOAR, the static part of Liu et al., "Tiered memory management
// beyond hotness", OSDI 2025. Ranks whole objects by their misses, weighted with the amortised offcore latency
// (AOL, latency over memory-level parallelism) of the time in which they occur, over the size. One placement for
// the run, made at allocation.
//
// AOL is a property of an interval of the run, not of an object: for each phase (or segment, if the plan has
// them), the exposed latency of all its misses over their number. So misses of a phase that hides its latencies
// count little.
#include "model/loads.hpp"
#include "strategy/planners/planners.hpp"
#include "strategy/search/whole_objects.hpp"
#include "strategy/static_decision.hpp"

namespace terrace::strategy {
namespace {

// Returns the exposed latency per byte read in this phase, with all data at home.
double amortised_latency(const model::Problem& problem, const model::ProblemPhase& phase) {
  double exposed = 0, read = 0;
  for (const auto& cell : phase.cells) {
    exposed += model::exposed_time(cell, problem.places[model::home_of(problem, problem.items[cell.item].domain)]);
    read += cell.read_bytes;
  }
  return read > 0 ? exposed / read : 0;
}

class Soar final : public Planner {
 public:
  [[nodiscard]] std::string_view name() const override { return "soar"; }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration&, Effort) const override {
    std::vector<double> criticality(problem.items.size(), 0);
    for (const auto& phase : problem.phases) {
      const auto latency = amortised_latency(problem, phase);
      for (const auto& cell : phase.cells) criticality[cell.item] += cell.read_bytes * latency;
    }
    return static_decision(problem, place_whole_objects(problem, criticality));
  }
};

}  // namespace

const Variant& soar_variant() {
  static const Soar planner;
  return planner;
}

}  // namespace terrace::strategy
