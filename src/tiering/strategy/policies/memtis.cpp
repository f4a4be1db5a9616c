// SPDX-License-Identifier: Apache-2.0
// Implements the policy of `--planner memtis`: MEMTIS (Lee et al., "MEMTIS: efficient memory tiering with dynamic
// page classification and page size determination", SOSP 2023; its kernel's mm/htmm_*.c). It samples accesses,
// builds a histogram of hotness in powers of two, and sets the threshold so that the hot set just fits into fast
// memory. Defaults of the published kernel:
//
// - One sample in 199 misses (htmm_sample_period); stores are sampled too, here by the lines that they write back.
// - Counts are halved after 2,000,000 samples (htmm_cooling_period), the threshold is set anew after 100,000
//   (htmm_adaptation_period), moves are made every 500 ms; each a thousandth of that here (policy.hpp).
// - 16 bins; bin n holds chunks of 2^n to 2^(n+1) samples for each 2 MiB, which is how the paper compares pages
//   of two sizes; the lowest threshold is bin 1 (htmm_thres_hot).
// - Hot chunks of slow memory are promoted, hottest first. Chunks below the threshold are demoted, coldest first,
//   only as many as needed.
//
// Splitting of huge pages is not modelled: chunks are not divided.
#include <algorithm>
#include <array>

#include "strategy/tiering/hotness.hpp"
#include "strategy/tiering/policy_variant.hpp"
#include "strategy/tiering/promotion.hpp"

namespace terrace::strategy {
namespace {

constexpr std::uint32_t k_sample_period = 199;
constexpr auto k_cooling = static_cast<std::uint64_t>(2'000'000 / k_time_scale);
constexpr auto k_adaptation = static_cast<std::uint64_t>(100'000 / k_time_scale);
constexpr Seconds k_interval{0.5 / k_time_scale};
constexpr std::size_t k_lowest_threshold = 1;

// Returns the lowest bin from which on all chunks fit into `capacity`; k_hotness_bins if not even the hottest bin
// does.
std::size_t threshold_for(const std::array<std::uint64_t, k_hotness_bins>& bytes, std::uint64_t capacity) {
  auto threshold = k_hotness_bins;
  for (std::uint64_t hot = 0; threshold > k_lowest_threshold; --threshold) {
    hot += bytes[threshold - 1];
    if (hot > capacity) break;
  }
  return threshold;
}

class Memtis final : public Policy {
 public:
  [[nodiscard]] PolicyNeeds needs() const override { return {k_interval, k_sample_period}; }
  void decide(const observe::Observation& seen, const Tiers& tiers, PolicyChoice& choice) override {
    hotness_.add(seen);
    const auto slow = hottest_first(tiers, hotness_, tiers.slow);
    auto fast = hottest_first(tiers, hotness_, tiers.fast);
    if (hotness_.added() - adapted_at_ >= k_adaptation) adapt(slow, fast, tiers);
    std::vector<ChunkId> hot, cold;
    for (const auto& ranked : slow)
      if (hotness_bin(ranked.density) >= threshold_) hot.push_back(ranked.chunk);
    std::reverse(fast.begin(), fast.end());
    for (const auto& ranked : fast)
      if (hotness_bin(ranked.density) < threshold_) cold.push_back(ranked.chunk);
    promote_and_evict(tiers, hot, cold, Bytes{}, choice, [](auto, auto) { return true; });
  }

 private:
  // Sets the threshold anew by the histogram of all chunks' hotness.
  void adapt(const std::vector<RankedChunk>& slow, const std::vector<RankedChunk>& fast, const Tiers& tiers) {
    adapted_at_ = hotness_.added();
    std::array<std::uint64_t, k_hotness_bins> bytes{};
    for (const auto* chunks : {&slow, &fast})
      for (const auto& ranked : *chunks) bytes[hotness_bin(ranked.density)] += tiers.size(ranked.chunk).value;
    threshold_ = threshold_for(bytes, tiers.capacity.value);
  }

  HotnessTracker hotness_{k_cooling};
  std::uint64_t adapted_at_ = 0;  // samples
  std::size_t threshold_ = k_hotness_bins;
};

}  // namespace

const Variant& memtis_variant() {
  static const PolicyVariant<Memtis> variant("memtis");
  return variant;
}

}  // namespace terrace::strategy
