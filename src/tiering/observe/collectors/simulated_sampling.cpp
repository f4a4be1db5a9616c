// SPDX-License-Identifier: Apache-2.0
// Registers the sampling collector (`--collector simulated-sampling`): simulated time and miss samples.
#include "observe/collecting/sampling_collector.hpp"
#include "observe/collector_variant.hpp"

namespace terrace::observe {
namespace {

class SimulatedSampling final : public CollectorVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "simulated-sampling"; }
  [[nodiscard]] std::unique_ptr<Collector> make(const CollectorParts& parts) const override {
    return std::make_unique<SamplingCollector>(parts.machine, parts.initiator, parts.cores, parts.chunks,
                                               parts.sample_interval);
  }
};

}  // namespace

const CollectorVariant& simulated_sampling_collector() {
  static const SimulatedSampling variant;
  return variant;
}

}  // namespace terrace::observe
