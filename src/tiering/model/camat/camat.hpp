// C-AMAT, the concurrent average memory access time of a cache or a memory (Sun and Wang, "Concurrent average
// memory access time", IEEE Computer 47(5), 2014; on GPUs: Zhang et al., MCHPC'17): cycles in which it has an
// access to serve, over accesses. Cycles in which several are served count once, idle ones not at all.
//
// An access looks up for some cycles, its hit phase; a miss then waits, its miss phase. A cycle belongs to a hit
// phase if any access is looking up, else, if any miss waits, it is a pure-miss cycle. A miss with a pure-miss
// cycle is a pure miss. Who is merged with a miss that is under way is a miss, and who has to try again has not
// accessed yet.
//
// Counters are integers and add up: those of several caches are summed, and ratios are made of the sums. So do
// those of stretches of time, which are differences of what was counted up to their ends: a cycle counts in the
// stretch in which it passes, an access in that in which it begins, a miss in that in which it is found to be one,
// a pure miss in that of its first pure-miss cycle.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace terrace::model {

struct CamatCounters {
  std::uint64_t accesses = 0;
  std::uint64_t misses = 0;
  std::uint64_t pure_misses = 0;
  std::uint64_t hit_cycles = 0;         // with an access that looks up
  std::uint64_t hit_access_cycles = 0;  // of all accesses that look up, added over cycles
  std::uint64_t pure_miss_cycles = 0;
  std::uint64_t pure_access_cycles = 0;  // of all misses, added over pure-miss cycles
  // With an access that has begun and not ended. Counted by itself: hit and pure-miss cycles together are as many.
  std::uint64_t active_cycles = 0;

  CamatCounters& operator+=(const CamatCounters& other);
  CamatCounters operator-(const CamatCounters& other) const;
  bool operator==(const CamatCounters&) const = default;
};

// What the counters say, in cycles an access and as ratios; 0 where a ratio is of nothing: in a stretch of time in
// which nothing begins what began before can still be under way, and then neither form has a value.
struct Camat {
  double value = 0;              // active cycles over accesses (the paper's equation 1)
  double hit_time = 0;           // H
  double hit_concurrency = 0;    // C_H
  double pure_miss_ratio = 0;    // pMR
  double pure_miss_penalty = 0;  // pAMP
  double miss_concurrency = 0;   // C_M

  // H / C_H + pMR x pAMP / C_M (equation 2); `value` but for rounding.
  [[nodiscard]] double of_parts() const;
};
[[nodiscard]] Camat camat_of(const CamatCounters& counters);

// Counts, while accesses come in the order of their begin.
class CamatMeter {
 public:
  using Cycle = std::uint64_t;
  using Miss = std::uint32_t;  // one that is under way

  // An access looks up in [begin, begin + cycles). `begin` is no earlier than any cycle that was given before, but
  // for ends of hit phases.
  void hit(Cycle begin, Cycle cycles) {
    begins(begin);
    hits(begin + cycles);
  }
  // The same; it then misses, until `miss_ends`.
  Miss miss(Cycle begin, Cycle cycles) {
    begins(begin);
    return misses(begin + cycles);
  }
  // The two halves apart, where it is not known at the begin how long the hit phase is.
  void begins(Cycle begin);
  void hits(Cycle end) { ends(end, 0, false); }
  Miss misses(Cycle end);
  // The first cycle in which it does not wait any more. Where that is before the end of its hit phase, it was no
  // pure miss: who is merged with a miss that is all but over.
  void miss_ends(Miss miss, Cycle end);
  // Up to that cycle, which no later call may precede.
  const CamatCounters& counted(Cycle now) {
    advance(now);
    return counters_;
  }

 private:
  struct HitEnd {
    Cycle at = 0;
    Miss miss = 0;  // that begins then
    bool misses = false;
  };
  struct Waiting {
    std::uint64_t pure_before = 0;  // pure-miss cycles when it began to wait
    bool waits = false;             // its hit phase is over
    bool ended = false;
  };
  void ends(Cycle end, Miss miss, bool misses);
  void advance(Cycle to);
  void integrate(Cycle to);

  CamatCounters counters_;
  std::deque<HitEnd> hit_ends_;  // by time
  std::vector<Waiting> waits_;   // by miss
  std::vector<Miss> free_;
  Cycle now_ = 0;
  std::uint64_t looking_up_ = 0;
  std::uint64_t waiting_ = 0;
  std::uint64_t not_yet_pure_ = 0;  // of them
  std::uint64_t under_way_ = 0;
};

}  // namespace terrace::model
