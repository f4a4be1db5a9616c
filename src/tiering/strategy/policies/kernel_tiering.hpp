// Linux's NUMA balancing in its memory-tiering mode (kernel.numa_balancing = 2, since 5.18; mm/memory.c,
// kernel/sched/fair.c, mm/vmscan.c), with its defaults:
//
// - Every scan period (numa_balancing_scan_period_min_ms, 1,000 ms) the next 256 MB (numa_balancing_scan_size_mb)
// of
//   what is in slow memory are protected; the kernel prolongs the period where little is remote, which is left
//   out here. Both are a thousandth of that here (policy.hpp), so as many bytes a second are scanned.
// - A fault costs the program 1.5 us (page faults of 1 to 2 us; stated, not measured).
// - A chunk whose fault came within the hot threshold (1,000 ms, here 1 ms) after it was protected is promoted; so
//   is any that faults while a sixteenth of fast memory is free. Each 60 s (here 60 ms) the threshold goes up or
//   down by an eighth of its first value, between that eighth and twice the first value, when less than 90 % or
//   more than 110 % of the rate limit were candidates.
// - Rate limit: 65,536 MB/s (numa_balancing_promote_rate_limit_MBps).
// - Room is made from the LRU's tail: what was touched longest ago goes first, what was touched since the last
//   look stays. Free memory up to the promotion watermark, 0.4 % of the node (0.1 % a step: min, low, high, promo;
//   vm.watermark_scale_factor), is kept.
//
// Pages are chunks. Copies run beside the program; the kernel's promotions run in the fault.
#pragma once

#include <vector>

#include "strategy/policy.hpp"

namespace terrace::strategy {

class KernelTiering : public Policy {
 public:
  [[nodiscard]] PolicyNeeds needs() const override;
  void decide(const observe::Observation& seen, const Tiers& tiers, PolicyChoice& choice) override;

 protected:
  // The share of the candidates that is promoted: those who regulate this policy give another.
  [[nodiscard]] virtual double promoted_share(const observe::Observation& seen, const Tiers& tiers) const;

 private:
  [[nodiscard]] std::vector<ChunkId> candidates(const observe::Observation& seen, const Tiers& tiers);
  [[nodiscard]] std::vector<ChunkId> idle_longest_first(const Tiers& tiers) const;
  void note_touched(const observe::Observation& seen);
  void adjust_threshold(const observe::Observation& seen);
  void scan(const observe::Observation& seen, const Tiers& tiers, PolicyChoice& choice);

  std::uint64_t interval_ = 0;
  std::vector<std::uint64_t> touched_in_;  // by chunk: the last interval in which it was touched, 0: never
  ChunkId next_scan_ = 0;
  double scan_left_ = 0;   // bytes that may be protected
  double threshold_ = 0;   // s
  double candidates_ = 0;  // bytes, since the threshold was adjusted
  Seconds since_adjusted_;
};

}  // namespace terrace::strategy
