// SPDX-License-Identifier: Apache-2.0
// Defines the plan: the initial place of every object, and the moves with the phase that triggers each. Planners
// make it, the runtime executes it. It refers to objects, phases and places by name, not address, so that it can
// be read, edited and used for another run of the program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/blob.hpp"
#include "core/units.hpp"

namespace terrace {

// Continuation of a phase beyond segment `last`, its last: what follows is like what follows segment `from`.
struct Repeat {
  std::uint32_t last = 0;  // position in Plan::phases
  std::uint32_t from = 0;

  bool operator==(const Repeat&) const = default;
};

// Chunks [first, first + count) of an object, in units of its size divided by PlanObject::chunks. So a plan made
// with one chunk size serves a run with another.
struct Span {
  std::uint32_t first = 0;
  std::uint32_t count = 0;

  bool operator==(const Span&) const = default;
};

// Place of a part of an object when the loop begins.
struct PlanPart {
  Span chunks;
  std::string place;  // name of a place, or of a kind: the place of that kind in the chunk's domain
  Seconds benefit{};  // predicted, per iteration, if the part never moves; else 0: its moves have it
  std::optional<double> confidence{};  // share of the draws that place it there, by bytes; none: not computed
};

struct PlanObject {
  std::string name;
  Bytes size;
  std::uint32_t chunks = 1;     // number of equal parts that the spans below count
  bool pinned = false;          // must never move
  std::vector<PlanPart> parts;  // uncovered parts are in the home place of the domain
};

struct PlanMove {
  std::uint32_t object = 0;  // index into Plan::objects
  Span chunks;
  std::string to;
  std::uint32_t ask = 0;   // phase (position in the iteration) at whose start the move is requested
  std::uint32_t need = 0;  // phase whose start waits for it; ask + number of phases: none waits
  bool awaited = true;     // false for moves out of fast memory
  Seconds benefit;         // predicted, per iteration
  Seconds cost;
};

// The first chunk that the phase accesses in this segment and not before. A fault on it reports progress.
struct PlanSentinel {
  std::uint32_t segment = 0;  // position in Plan::phases
  std::uint32_t object = 0;   // index into Plan::objects
  std::uint32_t chunk = 0;    // of the object's `chunks`
};

struct Plan {
  std::string planner;  // "local", "global", "first-touch", "hand", ...
  std::string machine;
  std::string loop;
  std::string progress = "accesses";  // what determines the beginning of segments
  std::vector<std::string> budget;    // "hbm=16GiB", in the user's notation
  std::vector<std::string> phases;    // names in the order of the iteration
  // Accesses by position in `phases`, where the length of a phase differs from its segments' (phase_length()).
  std::vector<std::uint64_t> lengths;
  // Predicted time by position in `phases`, for phases that are cut into segments, without waits for moves. Empty:
  // unknown.
  std::vector<Seconds> times;
  std::vector<Repeat> repeats;  // continuations of phases beyond their last segment, ascending
  // Indexed by phase: rate of moves as a share of full speed (Mover::limit_rate); empty: full speed.
  std::vector<double> rate_limits;
  std::vector<PlanObject> objects;
  std::vector<PlanSentinel> sentinels;  // of segments that request moves, if they have one; ascending
  std::vector<PlanMove> moves;          // in order of their requests
  Seconds predicted;                    // time of an iteration under the plan
  Seconds predicted_slow;               // with nothing in fast memory
  Seconds predicted_before;             // with the placement that was profiled; 0: unknown
  Seconds lower_bound;                  // of the time of an iteration; 0: not computed
  double gap = 0;                       // optimality gap of the search, as a share of the objective; 0: exact
  // Predicted cost of sampling error per iteration: mean and 90 % interval of the regret over `draws` problems
  // that the samples might have come from (strategy/confidence/confidence.hpp). 0 draws: not computed.
  std::uint32_t draws = 0;
  Seconds regret{};
  Seconds regret_low{};
  Seconds regret_high{};

  // Serialise the plan for the program's start and for its journal. from_blob() throws Error{corrupt}.
  void to_blob(BlobWriter& out) const;
  static Plan from_blob(BlobReader& in);
};

// Returns whether the share is a valid rate limit.
inline bool is_rate_limit(double share) { return share > 0 && share <= 1; }

// Returns the number of accesses of the phase that begins at position `start`: from `lengths` (by position; 0 or
// missing: unknown), else estimated from its segments, which are about equally long. Returns 0 if both are
// unknown.
double phase_length(const std::vector<std::string>& phases, const std::vector<std::uint64_t>& lengths,
                    std::uint32_t start);

// Returns the share of the phase's time that has passed when the segment at position `k` begins: by `times` if
// there are any, else by accesses. `start` is the position of the phase.
double share_of_time(const Plan& plan, std::uint32_t start, std::uint32_t k);
// Returns the predicted time of the phase that begins at `start`, the sum of its segments; 0 if unknown.
Seconds time_of_phase(const Plan& plan, std::uint32_t start);

// Returns whether the repeat is valid: `from` and `last` belong to one phase, and `last` is its last segment.
bool is_repeat(const std::vector<std::string>& phases, const Repeat& repeat);

// Returns whether both plans place everything equally at all times; their predictions may differ.
bool same_places(const Plan& a, const Plan& b);

}  // namespace terrace
