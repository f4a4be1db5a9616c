// The placement problem (design: planning.md): chunks, the cyclic sequence of phases of one iteration, places and
// budgets; and the time law that prices a schedule. The bound, the planners and the tests all work on this one
// definition. It knows nothing of where its numbers come from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/units.hpp"
#include "machine/machine.hpp"
#include "model/directives.hpp"
#include "profile/profile.hpp"

namespace terrace::model {

inline constexpr std::uint32_t k_no_item = 0xffffffff;

struct Item {  // a chunk, or several that are placed together
  Bytes size;
  DomainId domain = 0;
  std::uint32_t object = 0;   // index into Problem::objects
  std::uint32_t ordinal = 0;  // its first chunk's place in the object
  std::uint32_t chunks = 1;
  PlaceId pinned = k_no_place;  // is there and never moves
  // What its move takes of the mover beside the copy of its bytes, and of the program while it goes on, in seconds
  // (machine/copier_price.hpp).
  double remapping = 0;
  double stall = 0;
};

struct ItemCell {
  std::uint32_t item = 0;
  double read_bytes = 0;
  double write_bytes = 0;
  double exposure = 0;  // latencies
  double samples = 0;
  // Of samples, and of read_bytes + write_bytes, as if samples came at random (Poisson); 0 where nothing is
  // estimated.
  double samples_variance = 0;
  double bytes_variance = 0;
  // Of read_bytes and exposure, what prefetched lines are: each of them exposes as much, so one place serves both.
  // 0 where the collector does not tell them apart.
  double streamed_bytes = 0;
  double streamed_exposure = 0;
};

struct ProblemPhase {
  std::string name;
  Seconds core;         // C
  Seconds measured;     // T as it was, with Problem::measured_at
  Seconds unexplained;  // of T, not explained by max(C + D, B): kept as a constant in every prediction
  double samples = 0;
  double samples_with_access = 0;
  std::vector<ItemCell> cells;  // ascending by item
  double samples_variance = 0;  // of all samples of the phase, as of a cell's
  double unowned_bytes = 0;     // read and written, of memory that belongs to no chunk
  double latency_scale = 1;     // what estimates of core and exposure, and of bytes, were scaled down by, so that
  double bytes_scale = 1;       // they fit into the measured time
};

struct ProblemObject {  // in the order in which the program made them
  std::string name;
  Bytes size;
  std::uint32_t chunks = 1;
};

struct ProblemPlace {
  std::string name;
  std::string kind;
  DomainId domain = 0;
  Bytes budget;
  double read_bandwidth = 0;  // bytes/s, as the initiator sees it
  double write_bandwidth = 0;
  double latency = 0;  // s
};

struct Problem {
  std::string machine;
  std::string loop;
  std::string progress = "accesses";                // what its phases' segments were cut by
  std::vector<ProblemPlace> places;                 // indexed by PlaceId
  std::vector<PlaceId> homes;                       // by domain: where data resides that nobody placed
  std::vector<std::vector<PlaceId>> fastest_first;  // by domain: its places in the machine's order of speed
  std::string copier = machine::k_ideal_copier;     // at whose price items are moved
  std::vector<std::vector<double>> copy;            // bytes/s of a copy under way, [from][to]
  std::vector<ProblemObject> objects;
  std::vector<Item> items;
  std::vector<ProblemPhase> phases;
  std::vector<PlaceId> measured_at;  // by item: where it was when it was measured
  double cores = 1;
  double asking = 0;         // seconds that the program spends on asking for a chunk's move and having it logged
  bool touch_waits = false;  // who touches an item on its way waits for it; else it serves from where it resides
  bool cyclic = true;
  bool exact = false;  // from an oracle: no estimates, and `unexplained` is no constant
  bool held = true;    // its estimates were held against what phases took (hold_against_measured())
  // The progress of its phases was counted and not sampled: the totals of a phase's stalls and lines have no
  // error, only what chunks have of them (observe/collecting/load_sampling_collector.hpp).
  bool counted = false;
};

// Where each item is in each phase: place[phase][item], constant within a phase.
using Placement = std::vector<PlaceId>;
inline constexpr double k_held_back_by_nothing = 0.5;
struct Schedule {
  std::vector<Placement> phases;
  // Copies take what a phase leaves of a place's bandwidth, but at least this share of it. Where both want more
  // than there is copies get a half anyway (sim/time_law.hpp): with a half nothing holds them back.
  double copies_keep = k_held_back_by_nothing;
};

struct PhaseTime {
  double core = 0;       // C
  double exposed = 0;    // D
  double bandwidth = 0;  // max over places of B_m
  double copies = 0;     // X: time in which copies ran, beside the phase or while it waited for them
  double asking = 0;     // the program's part in the moves that it asks for
  double waiting = 0;    // for moves that the phase needs and that are not done, or that it touches on their way
  double total = 0;      // max(C + D, B with the copies' share) + unexplained + waiting + asking
};

struct Prediction {
  std::vector<PhaseTime> phases;
  Seconds total;
  Bytes moved;
  std::uint32_t moves = 0;
};

// Of the mover, for the item's whole way; 0 to where it is.
double move_time(const Problem& problem, std::uint32_t item, PlaceId from, PlaceId to);
// Of the program, for asking for the item's move and having it made.
double move_cost(const Problem& problem, std::uint32_t item);

// Merges cells of a profile into a problem for `machine` under `budget`. Items are chunks; runs of neighbouring
// chunks of one object that the profile tells least apart are merged where there are more than `max_items`.
// Several profiled iterations are averaged. A sampled profile's estimates can exceed the phase's measured time:
// they are then scaled down to fit it; what they leave unexplained stays a constant of the phase.
// What `directives` say of uses goes before what the profile has seen.
// Throws Error{invalid} when the profile has no iteration.
Problem make_problem(const profile::Profile& profile, const machine::Machine& machine,
                     const machine::Budget& budget, std::size_t max_items = 4096,
                     const Directives& directives = {});

// Returns, for each chunk of the profile, the item of the problem that contains it; k_no_item if none does.
// Requires: the problem was made of that profile.
std::vector<std::uint32_t> items_by_chunk(const profile::Profile& profile, const Problem& problem);

// Returns the profile with one of its iterations, and with all its objects, also those that live in other
// iterations only. Throws std::out_of_range.
profile::Profile only_iteration(const profile::Profile& profile, std::size_t iteration);

// Scales the estimates down to fit the measured times, as make_problem does, and finds anew what they leave
// unexplained. For estimates that have been changed; they must not be scaled already.
void hold_against_measured(Problem& problem);

// Segments that the usual iteration ends its phase before: there is nothing to plan for in them (a phase that does
// reach them goes on, see repeats.hpp).
void leave_out_unreached(Problem& problem);

// To how many items a profile's chunks are merged where planning must be quick: as many as leave about 12,000
// cells, and one for each object at least.
std::size_t affordable_items(const profile::Profile& profile);

// Iterations of one loop as a single one, which begins and ends where it likes. Throws Error{invalid} where they
// have other items or places than the first.
Problem in_sequence(const std::vector<Problem>& iterations);

// One phase's time with every item where `placement` says, no moves.
PhaseTime phase_time(const Problem& problem, std::size_t phase, const Placement& placement);

// An iteration's time in steady state; the schedule is cyclic: moves from the last phase's placement back to the
// first's are paid for too. A move begins after the last phase that touches the item on its way (earliest safe
// start, Unimem section 3.1.3), takes size / copy bandwidth one after the other, shares the memories' bandwidth
// with the phases that it runs beside, and the phase that needs the item waits for the rest.
Prediction predict(const Problem& problem, const Schedule& schedule);

// Everything in one place for the whole run; pinned items are where they are pinned.
Schedule everything_in(const Problem& problem, const std::vector<PlaceId>& place_by_domain);

// A domain's places, fastest first, and its home, as the machine has them (Machine::fastest_first). Both throw
// Error{invalid} where the problem does not say.
const std::vector<PlaceId>& fastest_first(const Problem& problem, DomainId domain);
PlaceId home_of(const Problem& problem, DomainId domain);
std::size_t domain_count(const Problem& problem);
std::size_t cell_count(const Problem& problem);  // of all phases

// By place: its budget less what is pinned there.
std::vector<Bytes> room_beside_pins(const Problem& problem);

// Whether no place holds more than its budget in any phase.
bool within_budget(const Problem& problem, const Schedule& schedule);
Bytes held(const Problem& problem, const Placement& placement, PlaceId place);

// The problem as JSON (schema "terrace-problem-3"), for solvers outside; exact to the last digit.
std::string dump_json(const Problem& problem);

}  // namespace terrace::model
