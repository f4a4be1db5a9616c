// SPDX-License-Identifier: Apache-2.0
// Implements the policy of `--planner colloid`: Colloid (Vuppalapati and Agarwal, "Tiered memory management:
// access latency is the key!", SOSP 2024), which balances the loaded latencies of both tiers. While fast memory
// has the lower latency, hot chunks are promoted; if it is overloaded, hot chunks are demoted. The amount is found
// by binary search for p, the share of the accesses that fast memory serves, between p_low and p_high; chunks
// whose accesses make up the difference move. Published parameters: delta = 0.05 (latencies that differ by less
// are equal), epsilon = 0.01 (when the search has converged, it begins anew, because the balance may have
// shifted).
//
// Colloid uses another system's hotness; here, as in the paper's integration with MEMTIS, samples with ageing
// (memtis.cpp, its period and cooling), bins (only a chunk in a hotter bin displaces another) and a quantum of 500
// ms, a thousandth of that here (policy.hpp). Latencies are observe::loaded_latency of an interval's utilisation;
// the paper reads occupancies and rates from the memory controllers. An interval's averages are exact in virtual
// time, so the paper's smoothing of noisy counters is omitted; so is its limit on migration below what copying
// allows.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "strategy/tiering/hotness.hpp"
#include "strategy/tiering/policy_variant.hpp"
#include "strategy/tiering/promotion.hpp"

namespace terrace::strategy {
namespace {

constexpr std::uint32_t k_sample_period = 199;
constexpr auto k_cooling = static_cast<std::uint64_t>(2'000'000 / k_time_scale);
constexpr Seconds k_interval{0.5 / k_time_scale};
constexpr double k_delta = 0.05;
constexpr double k_epsilon = 0.01;

class Colloid final : public Policy {
 public:
  [[nodiscard]] PolicyNeeds needs() const override { return {k_interval, k_sample_period}; }
  void decide(const observe::Observation& seen, const Tiers& tiers, PolicyChoice& choice) override {
    hotness_.add(seen);
    const auto fast = seen.places[tiers.fast];
    const auto slow = seen.places[tiers.slow];
    if (fast.reads + slow.reads <= 0) return;
    const auto share = fast.reads / (fast.reads + slow.reads);
    const bool fast_is_quicker = fast.latency < slow.latency;
    if (std::abs(fast.latency.value - slow.latency.value) < k_delta * fast.latency.value) return;
    const auto shift = shift_from(share, fast_is_quicker);
    if (fast_is_quicker)
      promote_hot(tiers, shift, choice);
    else
      demote_hot(tiers, shift, choice);
  }

 private:
  // Returns by how much the share of accesses that fast memory serves should change.
  double shift_from(double share, bool fast_is_quicker) {
    if (fast_is_quicker) {
      low_ = share;
      if (high_ <= low_) high_ = 1;
    } else {
      high_ = share;
      if (low_ >= high_) low_ = 0;
    }
    if (std::abs(high_ - low_) < k_epsilon) (fast_is_quicker ? high_ : low_) = fast_is_quicker ? 1 : 0;
    return std::abs((low_ + high_) / 2 - share);
  }

  // Returns the hottest chunks whose samples add up to at most that share of all.
  [[nodiscard]] std::vector<ChunkId> hottest_of_share(const std::vector<RankedChunk>& ranked, double all_samples,
                                                      double share) const {
    std::vector<ChunkId> chosen;
    auto left = share * all_samples;
    for (const auto& [chunk, density] : ranked) {
      const auto samples = static_cast<double>(hotness_.samples(chunk));
      if (samples == 0) break;
      if (samples > left) continue;
      left -= samples;
      chosen.push_back(chunk);
    }
    return chosen;
  }

  [[nodiscard]] double samples_of(const std::vector<RankedChunk>& ranked) const {
    double sum = 0;
    for (const auto& [chunk, density] : ranked) sum += static_cast<double>(hotness_.samples(chunk));
    return sum;
  }

  void promote_hot(const Tiers& tiers, double shift, PolicyChoice& choice) const {
    const auto slow = hottest_first(tiers, hotness_, tiers.slow);
    auto fast = hottest_first(tiers, hotness_, tiers.fast);
    const auto hot = hottest_of_share(slow, samples_of(slow) + samples_of(fast), shift);
    std::vector<ChunkId> cold;
    for (auto ranked = fast.rbegin(); ranked != fast.rend(); ++ranked) cold.push_back(ranked->chunk);
    // Compares bins, so that single samples do not decide between equally hot chunks.
    const auto bin = [&](ChunkId chunk) { return hotness_bin(hotness_.density(chunk, tiers.size(chunk))); };
    promote_and_evict(tiers, hot, cold, Bytes{}, choice,
                      [&](auto candidate, auto victim) { return bin(candidate) > bin(victim); });
  }

  void demote_hot(const Tiers& tiers, double shift, PolicyChoice& choice) const {
    const auto fast = hottest_first(tiers, hotness_, tiers.fast);
    const auto all = samples_of(fast) + samples_of(hottest_first(tiers, hotness_, tiers.slow));
    for (const auto chunk : hottest_of_share(fast, all, shift)) choice.moves.push_back({chunk, tiers.slow});
  }

  HotnessTracker hotness_{k_cooling};
  double low_ = 0;
  double high_ = 1;
};

}  // namespace

const Variant& colloid_variant() {
  static const PolicyVariant<Colloid> variant("colloid");
  return variant;
}

}  // namespace terrace::strategy
