// SPDX-License-Identifier: Apache-2.0
// Mode `flat-fast`: all datasets are in the fast memory, if they fit. Selected by how=flat-fast of
// terrace-stencils.
#include "core/error.hpp"
#include "stencil/virtual/mode.hpp"

namespace terrace::stencil {
namespace {

class FlatFast final : public Mode {
 public:
  explicit FlatFast(const TwoTierMachine& tiers) : tiers_(tiers) {}
  void add(const DatasetInfo& info) override {
    bytes_ += static_cast<double>(info.bytes());
    if (bytes_ > tiers_.fast_bytes)
      throw Error(Code::invalid, "the datasets do not fit into " + tiers_.fast_name +
                                     ", which has a capacity of " +
                                     format(Bytes{static_cast<std::uint64_t>(tiers_.fast_bytes)}) +
                                     ": set memory=SIZE to simulate a larger one");
  }
  void run(std::span<const Loop> chain) override {
    for (const auto& loop : chain) {
      const auto bytes = bytes_of(loop);
      counts_.accesses += bytes;
      counts_.hits += bytes;
      counts_.loop_seconds += tiers_.loop_seconds(bytes);
    }
    counts_.seconds = counts_.loop_seconds;
  }

 private:
  TwoTierMachine tiers_;
  double bytes_ = 0;
};

}  // namespace

const ModeVariant& flat_fast_mode() {
  static const ModeVariant variant{
      "flat-fast", {"memory"}, [](const TwoTierMachine& tiers, const ModeOptions&) -> std::unique_ptr<Mode> {
        return std::make_unique<FlatFast>(tiers);
      }};
  return variant;
}

}  // namespace terrace::stencil
