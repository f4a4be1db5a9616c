// How much of the program's heap the hooks reach. A chunk that was touched (the system gave it memory), but that
// no access has ever been reported of, is used by code without hooks: what it costs to have it here or there
// nobody knows. Code without hooks that works on chunks which other code has accessed does not show here.
//
// Any access is first a miss, since no two objects share a canonical address: so the misses tell which chunks the
// hooks reach.
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
  double bytes = 0, uncovered = 0;       // means over the time in main loops; without one, over all time
  std::vector<UncoveredObject> objects;  // what of them weighs most, in that order
};

class HeapCoverage final : public TallySink {
 public:
  static constexpr std::size_t k_max_objects = 16;

  // `touched`: bytes of [low, high) that the system has given memory for. `now` never goes back.
  HeapCoverage(std::function<Bytes(std::uint64_t low, std::uint64_t high)> touched, std::function<Seconds()> now);

  // Objects that are no heap are left out.
  void object_added(const Object& object, std::uint64_t address);
  void object_removed(ObjectId object);  // its memory is still there
  void set_in_loop(bool in_loop);
  // While accesses are not reported time stands still here: who used the heap then nobody knows.
  void set_observed(bool observed);
  void on_tally(const Quantum& quantum, const Tally& tally) override;
  // So far; asks of every live object.
  [[nodiscard]] HeapShare share();

 private:
  struct Times {
    double in_loop = 0, all = 0;
    auto operator<=>(const Times&) const = default;  // what counts in loops comes first
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
  Times times();  // now
  void account(const Live& live, const Times& now, Sums& sums) const;

  std::function<Bytes(std::uint64_t, std::uint64_t)> touched_;
  std::function<Seconds()> now_;
  std::vector<bool> reached_;  // by chunk
  std::map<ObjectId, Live> live_;
  Sums gone_;  // of objects that are removed
  bool in_loop_ = false;
  bool observed_ = true;
  double looked_;  // when times_ was brought up to date
  Times times_;
};

}  // namespace terrace::observe
