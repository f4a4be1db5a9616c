// SPDX-License-Identifier: Apache-2.0
// Measures how much of the program's heap the hooks reach, for the agent's report of coverage
// (agent/program_coverage.hpp). A chunk that is resident but has no traced access is used by uninstrumented code
// only, so the cost of its placement is unknown. Uninstrumented code that uses chunks which instrumented code has
// accessed is not detected.
//
// The misses of the simulated caches identify the chunks that the hooks reach: the first access to a chunk always
// misses, because the caches work with canonical addresses, and a new object never gets those of an earlier one.
// The misses come as a Tally, their sums by chunk over a quantum (a batch of one thread's accesses).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "observe/counts.hpp"
#include "observe/object.hpp"
#include "observe/tally.hpp"

namespace terrace::observe {

struct HeapShare {
  double bytes = 0, uncovered = 0;       // time-weighted means over main loops; over the run where there is none
  std::vector<UncoveredObject> objects;  // the largest uncovered objects, in descending order
};

class HeapCoverage final : public TallySink {
 public:
  static constexpr std::size_t k_max_objects = 16;

  // `touched`: returns the resident bytes of [low, high). `now`: monotonic time.
  HeapCoverage(std::function<Bytes(std::uint64_t low, std::uint64_t high)> touched, std::function<Seconds()> now);

  // Ignores objects that are not on the heap.
  void on_object_added(const Object& object, std::uint64_t address);
  void on_object_removed(ObjectId object);  // called before its memory is unmapped
  void set_in_loop(bool in_loop);
  // Sets whether accesses are traced. Time without tracing is not counted.
  void set_observed(bool observed);
  void on_tally(const Quantum& quantum, const Tally& tally) override;
  // Returns the coverage so far. Queries the resident bytes of every live object.
  [[nodiscard]] HeapShare share();

 private:
  struct Times {
    double in_loop = 0, all = 0;
    auto operator<=>(const Times&) const = default;  // time in loops is compared first
  };
  struct Live {
    Object object;
    std::uint64_t address = 0;
    Times born;
  };
  struct Uncovered {
    UncoveredObject object;
    Times weight;  // bytes x seconds
  };
  struct Sums {  // bytes x seconds
    Times bytes, uncovered;
    std::vector<Uncovered> largest;
  };
  Times update_times();
  void account(const Live& live, const Times& now, Sums& sums) const;

  std::function<Bytes(std::uint64_t, std::uint64_t)> touched_;
  std::function<Seconds()> now_;
  std::vector<bool> reached_;  // by chunk
  std::map<ObjectId, Live> live_;
  Sums gone_;  // of objects that are removed
  bool in_loop_ = false;
  bool observed_ = true;
  double last_update_;  // time of the last update of times_
  Times times_;
};

}  // namespace terrace::observe
