// SPDX-License-Identifier: Apache-2.0
// Mode `flat_slow`: all datasets are in the slow memory.
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

class FlatSlowVariant final : public ModeVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "flat-slow"; }
  [[nodiscard]] std::vector<std::string_view> words() const override { return {"slow_memory"}; }
  [[nodiscard]] std::unique_ptr<Mode> make(const TwoTierMachine& tiers,
                                           const ModeOptions& /*options*/) const override {
    return std::make_unique<FlatSlow>(tiers);
  }
};

}  // namespace

const ModeVariant& flat_slow_mode() {
  static const FlatSlowVariant variant;
  return variant;
}

}  // namespace terrace::stencil
