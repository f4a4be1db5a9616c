// SPDX-License-Identifier: Apache-2.0
// Implements the policy of `--planner alto`: ALTO, the migration part of Liu et al., "Tiered memory management
// beyond hotness", OSDI 2025. Throttles promotion while the amortised offcore latency (AOL: stall time of misses,
// over their number) is low, because the program then hides its latencies and a move gains nothing. ALTO regulates
// another system; here, as in the paper's NBT-ALTO, the kernel's tiering (kernel_tiering.hpp) with its parameters.
//
// The paper's thresholds are cycles of its two machines. Here they are shares of slow memory's latency: nothing is
// promoted below a tenth of it (the AOL of ten concurrent misses), all candidates from a third on, and between the
// two the share rises linearly. These two figures are Terrace's own.
#include <algorithm>

#include "strategy/policies/kernel_tiering.hpp"
#include "strategy/tiering/policy_variant.hpp"

namespace terrace::strategy {
namespace {

constexpr double k_none_below = 1.0 / 10;
constexpr double k_all_from = 1.0 / 3;

class Alto final : public KernelTiering {
  [[nodiscard]] double promoted_share(const observe::Observation& seen, const Tiers& tiers) const override {
    if (seen.reads <= 0) return 0;
    const auto amortised = seen.stalled.value / seen.reads / seen.places[tiers.slow].latency.value;
    return std::clamp((amortised - k_none_below) / (k_all_from - k_none_below), 0.0, 1.0);
  }
};

}  // namespace

const Variant& alto_variant() {
  static const PolicyVariant<Alto> variant("alto");
  return variant;
}

}  // namespace terrace::strategy
