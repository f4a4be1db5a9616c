// SPDX-License-Identifier: Apache-2.0
// Schedules the items of one domain between its home and its fast place, phase by phase: which reside there, which
// are fetched, which are evicted. The planner "stream" uses one for each domain. Fast memory is allocated in order
// of gain density: the seconds that an item's next uses gain, per byte and per second until the last of them. If
// all uses gain alike, this is Belady's rule.
#pragma once

#include <cstdint>
#include <vector>

#include "model/loads.hpp"
#include "model/problem.hpp"
#include "model/relaxation.hpp"

namespace terrace::strategy {

// Parameters of the allocation, of which the planner tries several settings.
struct Tuning {
  std::uint32_t lead = 3;  // max phases that data is fetched ahead of its use
  double worth = 0.25;     // price of a second of copying, in seconds of gain
  double patience = 1;     // price of a second of waiting, in seconds of gain
  double thrift = 0;       // price of a second of fast memory's bandwidth, in seconds of gain
  double keep = 0.25;      // min share of a place's bandwidth for copies (Schedule::min_copy_share)

  bool operator==(const Tuning&) const = default;
};

// Not thread-safe.
class Streamer {
 public:
  // `prices`: shadow prices of the lower bound, or null. The problem is borrowed and outlives this.
  Streamer(const model::Problem& problem, DomainId domain, PlaceId fast, PlaceId home,
           const model::Multipliers* prices);

  // Writes the places of the domain's items into the schedule.
  void fill(model::Schedule& schedule, const Tuning& tuning);

  // Adjusts the weights for the next attempt: uses that did not find their data in fast memory weigh more, the
  // others a little less (squeaky wheel optimisation: Joslin and Clements, Journal of Artificial Intelligence
  // Research 10, 1999).
  void weigh(const model::Schedule& schedule);

 private:
  struct Use {
    std::uint32_t phase = 0;
    double gained = 0;
    double busy = 0;  // seconds of fast memory's bandwidth that it uses
    double weight = 1;
  };
  struct Candidate {
    double gained = 0;
    std::uint32_t item = 0;
    double score = 0;        // gain density: seconds gained per byte and second
    std::uint32_t next = 0;  // phases until its next use
  };

  [[nodiscard]] double copy_in(std::uint32_t i) const { return model::move_time(problem_, i, home_, fast_); }
  [[nodiscard]] double copy_out(std::uint32_t i) const { return model::move_time(problem_, i, fast_, home_); }
  // Computes the gain of each use: the exposed latency or the bandwidth time that it saves, whichever is more; or
  // both at the shadow prices of the rows.
  void find_gains(const model::Multipliers* prices);
  // Returns the sum over `count` phases, at least one, from phase k on, cyclically. `sums`: prefix sums by phase.
  [[nodiscard]] static double over(const std::vector<double>& sums, std::uint32_t k, std::size_t count);
  // Returns the index of the item's first use from phase k on; one past the last use if that is in the next
  // iteration. Requires: phases ascend from call to call, as in advance().
  [[nodiscard]] std::size_t next_use(std::uint32_t item, std::uint32_t k);
  [[nodiscard]] bool touched(std::uint32_t item, std::uint32_t k) const;
  // Returns the item's gain density from phase k on: the maximum over its next uses of gain per second until the
  // use.
  [[nodiscard]] Candidate candidate(std::uint32_t item, std::uint32_t k, const Tuning& tuning);

  // Returns how long the item's next use would wait for a move that is requested now.
  [[nodiscard]] double lateness(const Candidate& one, std::uint32_t k) const;

  // Decides on the items of phase k. Fast memory holds what was kept and what was fetched during the phase before.
  // What is fetched during this phase takes its space now, and is usable from the next phase on.
  void advance(std::uint32_t k, const Tuning& tuning);

  const model::Problem& problem_;
  PlaceId fast_;
  PlaceId home_;
  model::Uses uses_;
  std::vector<std::uint32_t> items_;
  double capacity_ = 0;                              // bytes of the fast place, without pinned items
  std::vector<double> phase_time_;                   // with all data in fast memory
  std::vector<double> left_;                         // by phase: share of fast memory's bandwidth left for copies
  std::vector<double> copying_;                      // by phase: seconds of copying possible until its end
  std::vector<double> end_;                          // of each phase, from the iteration's begin
  std::vector<std::vector<Use>> gains_;              // by item
  std::vector<std::vector<std::uint32_t>> used_in_;  // by phase: items with a use that gains
  std::vector<std::size_t> cursor_;                  // by item: the next use
  std::uint64_t pass_ = 0;                           // calls of advance()
  std::vector<std::uint64_t> considered_;            // by item: the last advance() in which it was a candidate
  std::vector<bool> resident_;                       // by item: in fast memory, or being fetched
  std::vector<bool> incoming_;                       // by item: being fetched
  std::vector<std::uint32_t> resident_items_;        // the items that are
  double backlog_ = 0;                               // seconds of requested copies
};

}  // namespace terrace::strategy
