// SPDX-License-Identifier: Apache-2.0
// Mode `flat-slow`: all datasets are in the slow memory. Selected by how=flat-slow of terrace-stencils.
#include <algorithm>

#include "stencil/virtual/mode.hpp"

namespace terrace::stencil {
namespace {

class FlatSlow final : public Mode {
 public:
  explicit FlatSlow(const TwoTierMachine& tiers) : tiers_(tiers), slow_(tiers) {}
  void add(const DatasetInfo& info) override { slow_.reserve(static_cast<double>(info.bytes())); }
  void run(std::span<const Loop> chain) override {
    for (const auto& loop : chain) {
      const auto bytes = bytes_of(loop);
      counts_.accesses += bytes;
      counts_.loop_seconds += std::max(tiers_.loop_seconds(bytes), bytes / tiers_.slow_bandwidth);
    }
    counts_.seconds = counts_.loop_seconds;
  }

 private:
  TwoTierMachine tiers_;
  SlowMemoryBudget slow_;
};

}  // namespace

const ModeVariant& flat_slow_mode() {
  static const ModeVariant variant{
      "flat-slow", {"slow_memory"}, [](const TwoTierMachine& tiers, const ModeOptions&) -> std::unique_ptr<Mode> {
        return std::make_unique<FlatSlow>(tiers);
      }};
  return variant;
}

}  // namespace terrace::stencil
