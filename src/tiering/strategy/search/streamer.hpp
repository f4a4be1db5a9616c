// One domain's items between its home and its fast place, phase by phase: who is there, who comes, who goes. Room
// is given in the order of what it gains: the seconds that an item's next uses gain, for each byte and each second
// until the last of them. That is Belady's rule where all uses gain alike.
#pragma once

#include <cstdint>
#include <vector>

#include "model/loads.hpp"
#include "model/problem.hpp"
#include "model/relaxation.hpp"

namespace terrace::strategy {

struct Tuning {
  std::uint32_t lead = 3;  // phases ahead of its use that data may be brought
  double worth = 0.25;     // seconds gained for a second of copying: what bringing costs, and what staying saves
  double patience = 1;     // seconds gained for a second of waiting
  double thrift = 0;       // seconds lost for a second of fast memory's bandwidth
  double keep = 0.25;      // of a place's bandwidth, what copies have at least (Schedule::copies_keep)

  bool operator==(const Tuning&) const = default;
};

// One domain's items between its home and the fast place.
class Streamer {
 public:
  // `prices`, of the lower bound, may be null.
  Streamer(const model::Problem& problem, DomainId domain, PlaceId fast, PlaceId home,
           const model::Multipliers* prices);

  // Writes the places of the domain's items into the schedule.
  void fill(model::Schedule& schedule, const Tuning& tuning);

  // Where room went to the wrong uses shows in the whole: those that did not find their data in fast memory weigh
  // more in the next attempt, the others a little less (squeaky wheel optimisation: Joslin and Clements, Journal
  // of Artificial Intelligence Research 10, 1999).
  void weigh(const model::Schedule& schedule);

 private:
  struct Use {
    std::uint32_t phase = 0;
    double gained = 0;
    double busy = 0;  // seconds of fast memory's bandwidth
    double weight = 1;
  };
  struct Candidate {
    double gained = 0;
    std::uint32_t item = 0;
    double score = 0;        // seconds gained for each byte and second of room
    std::uint32_t next = 0;  // phases until its next use
  };

  [[nodiscard]] double copy_in(std::uint32_t i) const { return model::move_time(problem_, i, home_, fast_); }
  [[nodiscard]] double copy_out(std::uint32_t i) const { return model::move_time(problem_, i, fast_, home_); }
  // What each use is worth: the latency that it no longer exposes, or the bandwidth that it no longer takes, if
  // that is more; or both at the rows' prices.
  void find_gains(const model::Multipliers* prices);
  // Of running sums by phase: what falls on `count` of them, one or more, from phase k on, going round.
  [[nodiscard]] static double over(const std::vector<double>& sums, std::uint32_t k, std::size_t count);
  // The item's first use from phase k on; one behind the last when the next one comes in the next
  // iteration. Phases are asked for in their order, as advance() goes through them.
  [[nodiscard]] std::size_t next_use(std::uint32_t item, std::uint32_t k);
  [[nodiscard]] bool touched(std::uint32_t item, std::uint32_t k) const;
  // What room for the item is worth from phase k on: the most that its next uses gain a second until the last of
  // them.
  [[nodiscard]] Candidate candidate(std::uint32_t item, std::uint32_t k, const Tuning& tuning);

  // How long the item's next use would wait for a move that is asked for now.
  [[nodiscard]] double lateness(const Candidate& one, std::uint32_t k) const;

  // Fast memory in phase k has what was kept and what came during the phase before; what comes during this one
  // takes its room now and is there from the next one on.
  void advance(std::uint32_t k, const Tuning& tuning);

  const model::Problem& problem_;
  PlaceId fast_;
  PlaceId home_;
  model::Uses uses_;
  std::vector<std::uint32_t> items_;
  double room_ = 0;                                  // bytes of the fast place, without what is pinned there
  std::vector<double> phase_time_;                   // with everything in fast memory
  std::vector<double> left_;                         // share of fast memory's bandwidth that it then leaves
  std::vector<double> copying_;                      // seconds of copying beside the phases, to the end of each
  std::vector<double> end_;                          // of each phase, from the iteration's begin
  std::vector<std::vector<Use>> gains_;              // by item
  std::vector<std::vector<std::uint32_t>> used_in_;  // by phase: items with a use that gains
  std::vector<std::size_t> cursor_;                  // by item: the use that comes next
  std::uint64_t turn_ = 0;                           // calls of advance()
  std::vector<std::uint64_t> considered_;            // by item: the last turn in which it was a candidate to come
  std::vector<bool> resident_;                       // by item: there, or on its way there
  std::vector<bool> incoming_;                       // by item: on its way
  std::vector<std::uint32_t> there_;                 // the items that are
  double backlog_ = 0;                               // seconds of copying that are asked for
};

}  // namespace terrace::strategy
