// SPDX-License-Identifier: Apache-2.0
// Implements the planner of `--planner ecohmem`: ecoHMEM (Jorda et al., "ecoHMEM: Improving object placement
// methodology for hybrid memory systems in HPC", IEEE CLUSTER 2022; after Servat et al., "Automating the
// application data placement in hybrid memory systems", IEEE CLUSTER 2017). Ranks allocation call sites, here
// objects by their names, by weighted last-level misses (loads and stores) per byte. Greedy, whole objects, one
// placement for the run.
//
// A loaded line weighs 1. A stored line weighs the ratio of read to write bandwidth at home: the published weights
// are set by hand for each machine. Latency and phases are not considered.
#include "strategy/planners/planners.hpp"
#include "strategy/search/whole_objects.hpp"
#include "strategy/static_decision.hpp"

namespace terrace::strategy {
namespace {

class EcoHmem final : public Planner {
 public:
  [[nodiscard]] std::string_view name() const override { return "ecohmem"; }
  [[nodiscard]] Decision decide(const model::Problem& problem, const model::Calibration&, Effort) const override {
    std::vector<double> misses(problem.items.size(), 0);
    for (const auto& phase : problem.phases) {
      for (const auto& cell : phase.cells) {
        const auto& home = problem.places[model::home_of(problem, problem.items[cell.item].domain)];
        misses[cell.item] += cell.read_bytes + cell.write_bytes * home.read_bandwidth / home.write_bandwidth;
      }
    }
    return static_decision(problem, place_whole_objects(problem, misses));
  }
};

}  // namespace

const Variant& ecohmem_variant() {
  static const EcoHmem planner;
  return planner;
}

}  // namespace terrace::strategy
