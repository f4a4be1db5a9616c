// SPDX-License-Identifier: Apache-2.0
// Models Linux's NUMA balancing in its memory-tiering mode (kernel.numa_balancing = 2, since 5.18; mm/memory.c,
// kernel/sched/fair.c, mm/vmscan.c). It is the policy of `--planner kernel-tiering`, and the base of ALTO
// (alto.cpp). It has the kernel's defaults:
//
// - Scan: every scan period (numa_balancing_scan_period_min_ms, 1,000 ms) the next 256 MB
//   (numa_balancing_scan_size_mb) of slow memory are protected. The kernel prolongs the period if little memory is
//   remote; that is not modelled. Both are a thousandth here (policy.hpp), so the scan rate is the same.
// - Fault cost: a hint fault costs the program 1.5 us (page faults of 1 to 2 us; stated, not measured).
// - Promotion: a chunk that faults within the hot threshold (1,000 ms, here 1 ms) after it was protected is
//   promoted, and so is any that faults while a sixteenth of fast memory is free. Every 60 s (here 60 ms) the
//   threshold rises or falls by an eighth of its initial value, between that eighth and twice the initial value,
//   if the candidates were less than 90 % or more than 110 % of the rate limit.
// - Rate limit: 65,536 MB/s (numa_balancing_promote_rate_limit_MBps).
// - Demotion: in LRU order; chunks touched in the present interval stay. Memory up to the promotion watermark, 0.4
//   % of the node (0.1 % per step: min, low, high, promo; vm.watermark_scale_factor), is kept free.
//
// Chunks stand for pages. Copies run concurrently with the program; the kernel promotes within the fault.
//
// Not thread-safe.
#pragma once

#include <vector>

#include "strategy/policy.hpp"

namespace terrace::strategy {

class KernelTiering : public Policy {
 public:
  [[nodiscard]] PolicyNeeds needs() const override;
  void decide(const observe::Observation& seen, const Tiers& tiers, PolicyChoice& choice) override;

 protected:
  // Returns the share of the candidates to promote. Policies that regulate this one override it.
  [[nodiscard]] virtual double promoted_share(const observe::Observation& seen, const Tiers& tiers) const;

 private:
  [[nodiscard]] std::vector<ChunkId> candidates(const observe::Observation& seen, const Tiers& tiers);
  [[nodiscard]] std::vector<ChunkId> idle_longest_first(const Tiers& tiers) const;
  void note_touched(const observe::Observation& seen);
  void adjust_threshold(const observe::Observation& seen);
  void scan(const observe::Observation& seen, const Tiers& tiers, PolicyChoice& choice);

  std::uint64_t interval_ = 0;
  std::vector<std::uint64_t> touched_in_;  // by chunk: the last interval in which it was touched; 0: never
  ChunkId next_scan_ = 0;
  double scan_left_ = 0;   // bytes that may still be protected
  double threshold_ = 0;   // s
  double candidates_ = 0;  // bytes, since the last adjustment of the threshold
  Seconds since_adjusted_;
};

}  // namespace terrace::strategy
