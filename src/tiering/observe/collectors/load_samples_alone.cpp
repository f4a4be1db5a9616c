// SPDX-License-Identifier: Apache-2.0
// Registers the load-sampling collector (`--collector load-samples-alone`) without counters by place and page
// references. For experiments.
#include "observe/collecting/load_sampling_collector.hpp"
#include "observe/collector_variant.hpp"

namespace terrace::observe {
namespace {

class LoadSamplesAlone final : public CollectorVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "load-samples-alone"; }
  [[nodiscard]] double sample_cycles() const override { return k_load_sample_cycles; }
  [[nodiscard]] std::unique_ptr<Collector> make(const CollectorParts& parts) const override {
    return std::make_unique<LoadSamplingCollector>(parts.machine, parts.initiator, parts.cores, parts.chunks,
                                                   parts.sample_interval, LoadSamplingSources{false, false});
  }
};

}  // namespace

const CollectorVariant& load_samples_alone_collector() {
  static const LoadSamplesAlone variant;
  return variant;
}

}  // namespace terrace::observe
