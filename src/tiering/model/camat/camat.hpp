// SPDX-License-Identifier: Apache-2.0
// Measures C-AMAT, the concurrent average memory access time of a cache or a memory (Sun and Wang, "Concurrent
// average memory access time", IEEE Computer 47(5), 2014; on GPUs: Zhang et al., MCHPC'17): active cycles over
// accesses. A cycle that serves several accesses counts once; idle cycles do not count. The GPU simulator meters
// its caches and DRAM channels with it.
//
// An access has a hit phase (lookup) of some cycles; a miss then has a miss phase (wait). A cycle with any lookup
// is a hit cycle; else, with any waiting miss, a pure-miss cycle. A miss with at least one pure-miss cycle is a
// pure miss. An access merged with an outstanding miss is a miss; a rejected access that must retry has not
// accessed yet.
//
// Counters are additive integers: ratios of several caches are formed from sums of counters. Counters of an
// interval are differences of cumulative counters: a cycle counts in its own interval, an access in that of its
// begin, a miss in that of its detection, and a pure miss in that of its first pure-miss cycle.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace terrace::model {

struct CamatCounters {
  std::uint64_t accesses = 0;
  std::uint64_t misses = 0;
  std::uint64_t pure_misses = 0;
  std::uint64_t hit_cycles = 0;         // with at least one lookup
  std::uint64_t hit_access_cycles = 0;  // lookups, summed over cycles
  std::uint64_t pure_miss_cycles = 0;
  std::uint64_t pure_access_cycles = 0;  // waiting misses, summed over pure-miss cycles
  // Cycles with an outstanding access. Counted independently: Invariant: equals hit_cycles + pure_miss_cycles.
  std::uint64_t active_cycles = 0;

  CamatCounters& operator+=(const CamatCounters& other);
  CamatCounters operator-(const CamatCounters& other) const;
  bool operator==(const CamatCounters&) const = default;
};

// C-AMAT and its parameters, in cycles per access and as ratios. 0 for ratios with the denominator 0: an interval
// may have active cycles of earlier accesses and no new access, and neither form of C-AMAT is defined then.
struct Camat {
  double value = 0;              // active cycles over accesses (the paper's equation 1)
  double hit_time = 0;           // H
  double hit_concurrency = 0;    // C_H
  double pure_miss_ratio = 0;    // pMR
  double pure_miss_penalty = 0;  // pAMP
  double miss_concurrency = 0;   // C_M

  // Returns H / C_H + pMR x pAMP / C_M (equation 2), which equals `value` up to rounding.
  [[nodiscard]] double from_components() const;
};
[[nodiscard]] Camat camat_of(const CamatCounters& counters);

// Counts accesses of one cache or memory. Requires: accesses are reported in the order of their begin. Not
// thread-safe.
class CamatMeter {
 public:
  using Cycle = std::uint64_t;
  using Miss = std::uint32_t;  // id of an outstanding miss

  // Adds a hit with the hit phase [begin, begin + cycles). Requires: `begin` is not before any cycle reported
  // earlier, ends of hit phases excepted.
  void add_hit(Cycle begin, Cycle cycles) {
    begin_access(begin);
    end_hit(begin + cycles);
  }
  // Adds a miss with this hit phase; its miss phase lasts until end_miss().
  Miss add_miss(Cycle begin, Cycle cycles) {
    begin_access(begin);
    return begin_miss(begin + cycles);
  }
  // Report begin and end of a hit phase separately, where its length is not known at the begin.
  void begin_access(Cycle begin);
  void end_hit(Cycle end) { schedule_hit_end(end, 0, false); }
  Miss begin_miss(Cycle end);
  // Ends a miss; `end` is the first cycle in which it does not wait. If that precedes the end of its hit phase, it
  // was no pure miss: an access merged with a miss that was nearly complete.
  void end_miss(Miss miss, Cycle end);
  // Returns the counters up to cycle `now`. Requires: no later call reports an earlier cycle.
  const CamatCounters& counters_at(Cycle now) {
    advance(now);
    return counters_;
  }

 private:
  struct HitEnd {
    Cycle at = 0;
    Miss miss = 0;  // its miss phase begins then
    bool misses = false;
  };
  struct PendingMiss {
    std::uint64_t pure_before = 0;  // value of pure_miss_cycles at the start of its miss phase
    bool waits = false;             // in its miss phase
    bool ended = false;
  };
  void schedule_hit_end(Cycle end, Miss miss, bool misses);
  void advance(Cycle to);
  void integrate(Cycle to);

  CamatCounters counters_;
  std::deque<HitEnd> hit_ends_;       // by time
  std::vector<PendingMiss> pending_;  // by miss
  std::vector<Miss> free_ids_;
  Cycle now_ = 0;
  std::uint64_t num_looking_up_ = 0;
  std::uint64_t num_waiting_ = 0;
  std::uint64_t num_not_yet_pure_ = 0;  // of num_waiting_
  std::uint64_t num_active_ = 0;
};

}  // namespace terrace::model
