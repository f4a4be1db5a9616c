// The plan: where every object is at first, and the moves with the phase that triggers each. It names objects,
// phases and places, not addresses, so that it can be read, edited and used for another run of the program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/blob.hpp"
#include "core/units.hpp"

namespace terrace {

// Behind segment `last` of its phase, what follows is as what followed segment `from` began with.
struct Repeat {
  std::uint32_t last = 0;  // position in the problem's phases
  std::uint32_t from = 0;

  bool operator==(const Repeat&) const = default;
};

// Chunks [first, first + count) of an object in units of the object's size / of: a plan made with one chunk size
// serves a run with another.
struct Span {
  std::uint32_t first = 0;
  std::uint32_t count = 0;

  bool operator==(const Span&) const = default;
};

struct PlanPart {  // where a part of an object is when the loop begins
  Span chunks;
  std::string place;  // a place's or a kind's name; a kind means that of the chunk's domain
  Seconds benefit{};  // predicted, an iteration, of what never moves; 0 for the rest: their moves have it
  std::optional<double> confidence{};  // share of the draws that place it there, by bytes; none: nobody asked
};

struct PlanObject {
  std::string name;
  Bytes size;
  std::uint32_t chunks = 1;     // into how many equal parts the spans below count
  bool pinned = false;          // "never move"
  std::vector<PlanPart> parts;  // uncovered parts are in the domain's home place
};

struct PlanMove {
  std::uint32_t object = 0;  // index into Plan::objects
  Span chunks;
  std::string to;
  std::uint32_t ask = 0;   // phase (position in the iteration) at whose start the move is asked for
  std::uint32_t need = 0;  // phase whose start waits for it; == ask + phases means "nobody waits"
  bool awaited = true;     // moves out are not waited for
  Seconds benefit;         // predicted, an iteration
  Seconds cost;
};

// The first chunk that the phase touches in this segment and not before (for progress by sentinel).
struct PlanSentinel {
  std::uint32_t segment = 0;  // position in Plan::phases
  std::uint32_t object = 0;   // index into Plan::objects
  std::uint32_t chunk = 0;    // of the object's `chunks`
};

struct Plan {
  std::string planner;  // "local", "global", "first-touch", "hand", ...
  std::string machine;
  std::string loop;
  std::string progress = "accesses";  // what segments of phases begin by
  std::vector<std::string> budget;    // "hbm=16GiB", as the user may write it
  std::vector<std::string> phases;    // names in the order of the iteration
  // By position in phases, accesses: where a phase's length is other than its segments say (phase_length()).
  std::vector<std::uint64_t> lengths;
  // By position in phases, of those that are cut into segments: how long each takes under the plan, as predicted,
  // without waiting for moves. Empty: unknown.
  std::vector<Seconds> times;
  std::vector<Repeat> repeats;  // where phases go on that go on beyond their last segment, ascending
  std::vector<double>
      rate_limits;  // by phase: how fast moves go, of full speed (Mover::limit_rate); empty: at full speed
  std::vector<PlanObject> objects;
  std::vector<PlanSentinel> sentinels;  // of segments that ask for moves, where there is one; ascending
  std::vector<PlanMove> moves;          // in the order in which they are asked for
  Seconds predicted;                    // an iteration
  Seconds predicted_slow;               // an iteration with nothing in fast memory
  Seconds predicted_before;             // with everything where it was when it was profiled; 0: not known
  Seconds lower_bound;                  // an iteration; 0 when it was not computed
  double gap = 0;                       // of the search itself, where it was not exact: share of the objective
  // What sampling error costs, predicted, an iteration: its mean and 90 % interval over `draws` problems that the
  // samples might have come from (strategy/confidence/confidence.hpp). No draws: nobody asked.
  std::uint32_t draws = 0;
  Seconds regret{};
  Seconds regret_low{};
  Seconds regret_high{};

  void to_blob(BlobWriter& out) const;
  static Plan from_blob(BlobReader& in);
};

// Whether moves can go at so much of full speed.
inline bool is_rate_limit(double share) { return share > 0 && share <= 1; }

// How many accesses the phase that begins at position `start` had: as `lengths` says (by position; 0 or nothing:
// unknown), else as its segments do, which are about as long as one another. 0 where neither does.
double phase_length(const std::vector<std::string>& phases, const std::vector<std::uint64_t>& lengths,
                    std::uint32_t start);

// What share of the time of its phase is over when the segment at position `k` begins: by `times` where there are
// any, else by accesses. `start` is the position of its phase.
double share_of_time(const Plan& plan, std::uint32_t start, std::uint32_t k);
// How long the phase that begins at `start` takes, all segments of it; 0 where nobody knows.
Seconds time_of_phase(const Plan& plan, std::uint32_t start);

// Whether its segments are those of one phase, the last one of it among them.
bool is_repeat(const std::vector<std::string>& phases, const Repeat& repeat);

// Whether both have everything at the same places at the same times: what they predict may differ.
bool same_places(const Plan& a, const Plan& b);

}  // namespace terrace
