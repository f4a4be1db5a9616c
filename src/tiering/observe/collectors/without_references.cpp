// SPDX-License-Identifier: Apache-2.0
// Registers the load-sampling collector (`--collector without-references`) without page references: prefetched
// lines of a place are distributed over all of its chunks. For experiments.
#include "observe/collecting/load_sampling_collector.hpp"
#include "observe/collector_variant.hpp"

namespace terrace::observe {
namespace {

class WithoutReferences final : public CollectorVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "without-references"; }
  [[nodiscard]] double sample_cycles() const override { return k_load_sample_cycles; }
  [[nodiscard]] std::unique_ptr<Collector> make(const CollectorParts& parts) const override {
    return std::make_unique<LoadSamplingCollector>(parts.machine, parts.initiator, parts.cores, parts.chunks,
                                                   parts.sample_interval, LoadSamplingSources{true, false});
  }
};

}  // namespace

const CollectorVariant& without_references_collector() {
  static const WithoutReferences variant;
  return variant;
}

}  // namespace terrace::observe
