// SPDX-License-Identifier: Apache-2.0
// Implements the policy of `--planner kernel-tiering`: scans slow memory, promotes chunks that fault soon after,
// demotes those idle longest. PolicyStrategy (policy_variant.cpp) calls it. See kernel_tiering.hpp.
#include "strategy/policies/kernel_tiering.hpp"

#include <algorithm>

#include "strategy/tiering/policy_variant.hpp"
#include "strategy/tiering/promotion.hpp"

namespace terrace::strategy {

namespace {

constexpr double k_scan_period = 1.0 / k_time_scale;  // s
constexpr double k_scan_size = 256.0 * (1 << 20) / k_time_scale;
constexpr double k_threshold = 1.0 / k_time_scale;
constexpr double k_threshold_step = k_threshold / 8;
constexpr double k_adjust_period = 60.0 / k_time_scale;
constexpr double k_rate_limit = 65536.0 * (1 << 20);  // bytes/s
constexpr Seconds k_fault_cost{1.5e-6};

}  // namespace

PolicyNeeds KernelTiering::needs() const { return {Seconds{k_scan_period}, 0, k_fault_cost}; }

double KernelTiering::promoted_share(const observe::Observation&, const Tiers&) const { return 1; }

void KernelTiering::note_touched(const observe::Observation& seen) {
  ++interval_;
  for (const auto chunk : seen.touched) {
    if (chunk >= touched_in_.size()) touched_in_.resize(std::size_t{chunk} + 1, 0);
    touched_in_[chunk] = interval_;
  }
}

std::vector<ChunkId> KernelTiering::idle_longest_first(const Tiers& tiers) const {
  const auto last = [&](ChunkId chunk) { return chunk < touched_in_.size() ? touched_in_[chunk] : 0; };
  std::vector<ChunkId> idle;
  for (ChunkId chunk = 0; chunk < tiers.chunks->size(); ++chunk)
    if (tiers.is_on(chunk, tiers.fast) && last(chunk) < interval_) idle.push_back(chunk);
  std::stable_sort(idle.begin(), idle.end(), [&](auto a, auto b) { return last(a) < last(b); });
  return idle;
}

// Returns the chunks that faulted soon enough to be promoted, within the rate limit.
std::vector<ChunkId> KernelTiering::candidates(const observe::Observation& seen, const Tiers& tiers) {
  const bool plenty = tiers.free.value >= tiers.capacity.value / 16;
  std::vector<ChunkId> hot;
  double allowed = k_rate_limit * seen.length.value;
  for (const auto& fault : seen.faults) {
    if (!tiers.is_on(fault.chunk, tiers.slow)) continue;
    if (!plenty && fault.latency.value >= threshold_) continue;
    const auto size = static_cast<double>(tiers.size(fault.chunk).value);
    candidates_ += size;
    if (size > allowed) continue;
    allowed -= size;
    hot.push_back(fault.chunk);
  }
  return hot;
}

// Raises or lowers the hot threshold by the candidates since the last adjustment, as the kernel does.
void KernelTiering::adjust_threshold(const observe::Observation& seen) {
  if (threshold_ == 0) threshold_ = k_threshold;
  since_adjusted_ += seen.length;
  if (since_adjusted_.value < k_adjust_period) return;
  const auto limit = k_rate_limit * since_adjusted_.value;
  if (candidates_ > 1.1 * limit)
    threshold_ = std::max(threshold_ - k_threshold_step, k_threshold_step);
  else if (candidates_ < 0.9 * limit)
    threshold_ = std::min(threshold_ + k_threshold_step, 2 * k_threshold);
  candidates_ = 0;
  since_adjusted_ = {};
}

// Scans all chunks at most once per interval.
void KernelTiering::scan(const observe::Observation& seen, const Tiers& tiers, PolicyChoice& choice) {
  scan_left_ = std::min(scan_left_, 0.0) + k_scan_size * std::max(1.0, seen.length.value / k_scan_period);
  const auto count = static_cast<ChunkId>(tiers.chunks->size());
  for (ChunkId n = 0; n < count && scan_left_ > 0; ++n) {
    if (next_scan_ >= count) next_scan_ = 0;
    const auto chunk = next_scan_++;
    if (!tiers.is_on(chunk, tiers.slow)) continue;
    choice.protect.push_back(chunk);
    scan_left_ -= static_cast<double>(tiers.size(chunk).value);
  }
}

void KernelTiering::decide(const observe::Observation& seen, const Tiers& tiers, PolicyChoice& choice) {
  note_touched(seen);
  adjust_threshold(seen);
  auto hot = candidates(seen, tiers);
  hot.resize(static_cast<std::size_t>(promoted_share(seen, tiers) * static_cast<double>(hot.size())));
  const Bytes watermark{tiers.capacity.value / 250};
  promote_and_evict(tiers, hot, idle_longest_first(tiers), watermark, choice, [](auto, auto) { return true; });
  scan(seen, tiers, choice);
}

const Variant& kernel_tiering_variant() {
  static const PolicyVariant<KernelTiering> variant("kernel-tiering");
  return variant;
}

}  // namespace terrace::strategy
