// SPDX-License-Identifier: Apache-2.0
// Implements the planner of `--planner xmem`: X-Mem (Dulloor et al., "Data tiering in heterogeneous memory
// systems", EuroSys 2016). Places whole data structures once for the run, by the profile of an earlier run;
// nothing moves.
//
// The paper classifies each structure's accesses as streaming, random or pointer chasing, since a prefetched line
// gains from bandwidth and a chased one from latency, and ranks structures by the gain of an access of their
// class, times the accesses, over the size. Here the profile has the same facts in numbers: lines read and
// written, and the latencies that they exposed. A structure gains, in each phase, the larger of its bandwidth and
// its latency gain. Two parts of the paper are omitted: its instrumentation, and the split of the last structure
// that does not fit (the text speaks of whole ones).
#include <algorithm>

#include "model/loads.hpp"
#include "strategy/planners/planners.hpp"
#include "strategy/search/whole_objects.hpp"
#include "strategy/static_decision.hpp"

namespace terrace::strategy {
namespace {

// Returns the gain in the fastest place compared with home; a place between the two gains in proportion.
double gain(const model::Problem& problem, const model::ItemCell& cell) {
  const auto domain = problem.items[cell.item].domain;
  const auto& home = problem.places[model::home_of(problem, domain)];
  const auto& fast = problem.places[model::fastest_first(problem, domain).front()];
  const auto streamed = model::busy_time(cell, home) - model::busy_time(cell, fast);
  const auto waited = model::exposed_time(cell, home) - model::exposed_time(cell, fast);
  return std::max({streamed, waited, 0.0});
}

class XMem final : public Planner {
 public:
  [[nodiscard]] std::string_view name() const override { return "xmem"; }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration&, Effort) const override {
    std::vector<double> worth(problem.items.size(), 0);
    for (const auto& phase : problem.phases)
      for (const auto& cell : phase.cells) worth[cell.item] += gain(problem, cell);
    return static_decision(problem, place_whole_objects(problem, worth));
  }
};

}  // namespace

const Variant& xmem_variant() {
  static const XMem planner;
  return planner;
}

}  // namespace terrace::strategy
