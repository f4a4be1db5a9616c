// SPDX-License-Identifier: Apache-2.0
// Registers the exact collector (`--collector exact`): the simulator's own counters, which no hardware delivers.
// Shows the value of a plan with perfect information.
#include "observe/collecting/exact_collector.hpp"
#include "observe/collector_variant.hpp"

namespace terrace::observe {
namespace {

class Exact final : public CollectorVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "exact"; }
  [[nodiscard]] std::unique_ptr<Collector> make(const CollectorParts& parts) const override {
    return std::make_unique<ExactCollector>(parts.machine, parts.initiator, parts.cores, parts.chunks);
  }
};

}  // namespace

const CollectorVariant& exact_collector() {
  static const Exact variant;
  return variant;
}

}  // namespace terrace::observe
