// SPDX-License-Identifier: Apache-2.0
// Registers the load-sampling collector (`--collector load-sampling`, the default): samples of loads and stores,
// counters by place, page references.
#include "observe/collecting/load_sampling_collector.hpp"
#include "observe/collector_variant.hpp"

namespace terrace::observe {
namespace {

class LoadSampling final : public CollectorVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "load-sampling"; }
  [[nodiscard]] double sample_cycles() const override { return k_load_sample_cycles; }
  [[nodiscard]] bool watches_pages() const override { return true; }
  [[nodiscard]] std::unique_ptr<Collector> make(const CollectorParts& parts) const override {
    return std::make_unique<LoadSamplingCollector>(parts.machine, parts.initiator, parts.cores, parts.chunks,
                                                   parts.sample_interval);
  }
};

}  // namespace

const CollectorVariant& load_sampling_collector() {
  static const LoadSampling variant;
  return variant;
}

}  // namespace terrace::observe
