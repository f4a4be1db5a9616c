// SPDX-License-Identifier: Apache-2.0
// Defines the placement problem (docs/explanation/planning.md): items (chunks), the cyclic sequence of phases of
// one iteration, places and their budgets; and the time law that predicts the time of a schedule. The lower bound,
// the planners and the tests share this definition. Values only: independent of the source of the numbers.
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

struct Item {  // placement unit: a chunk, or adjacent chunks that are placed together
  Bytes size;
  DomainId domain = 0;
  std::uint32_t object = 0;   // index into Problem::objects
  std::uint32_t ordinal = 0;  // index of its first chunk within the object
  std::uint32_t chunks = 1;
  PlaceId pinned = k_no_place;  // fixed place; k_no_place: free
  // Seconds of the mover per move, without the copy of its bytes, and seconds by which a move stalls the running
  // program (machine/copier_price.hpp).
  double remapping = 0;
  double stall = 0;
};

struct ItemCell {  // traffic of an item in a phase
  std::uint32_t item = 0;
  double read_bytes = 0;   // lines fetched: last-level misses of loads and stores, and prefetches
  double write_bytes = 0;  // lines written back
  double exposure = 0;     // exposed latencies, in units of the place's latency
  double samples = 0;
  // Variances of `samples`, and of read_bytes + write_bytes, under Poisson sampling; 0 for exact values.
  double samples_variance = 0;
  double bytes_variance = 0;
  // Parts of read_bytes and exposure due to prefetched lines. Each such line exposes the same latency, so one
  // place serves both. 0 where the collector does not distinguish them.
  double streamed_bytes = 0;
  double streamed_exposure = 0;
};

struct ProblemPhase {
  std::string name;
  Seconds core;         // C
  Seconds measured;     // T as measured, with the placement Problem::measured_at
  Seconds unexplained;  // part of T not explained by max(C + D, B): a constant of every prediction
  double samples = 0;
  double samples_with_access = 0;
  std::vector<ItemCell> cells;  // ascending by item
  double samples_variance = 0;  // of `samples`
  double unowned_bytes = 0;     // traffic to memory of no chunk
  double latency_scale = 1;     // factors by which the estimates of core and exposure, and of bytes,
  double bytes_scale = 1;       // were scaled down to fit the measured time
};

struct ProblemObject {  // in order of allocation
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
  std::string progress = "accesses";                // progress measure that delimits segments of phases
  std::vector<ProblemPlace> places;                 // indexed by PlaceId
  std::vector<PlaceId> homes;                       // by domain: default place of data without a placement
  std::vector<std::vector<PlaceId>> fastest_first;  // by domain: its places, fastest first
  std::string copier = machine::k_ideal_copier;     // whose price moves have
  std::vector<std::vector<double>> copy;            // bytes/s of a copy, [from][to]
  std::vector<ProblemObject> objects;
  std::vector<Item> items;
  std::vector<ProblemPhase> phases;
  std::vector<PlaceId> measured_at;  // by item: its place during the measurement
  double cores = 1;
  double asking = 0;         // seconds of the program to request and log a chunk's move
  bool touch_waits = false;  // an access to an item being moved waits; else it is served from the source
  bool cyclic = true;
  bool exact = false;  // from exact counters: no estimates, and `unexplained` is not constant
  bool held = true;    // estimates were scaled by fit_to_measured()
  // Progress was counted, not sampled: a phase's total stalls and lines are exact, and only their attribution to
  // chunks has sampling error (observe/collecting/load_sampling_collector.hpp).
  bool counted = false;
};

// Place of each item; constant within a phase.
using Placement = std::vector<PlaceId>;
inline constexpr double k_unlimited_copy_share = 0.5;
struct Schedule {
  std::vector<Placement> phases;
  // Copies take the bandwidth of a place that a phase leaves, but at least this share. Under contention copies get
  // half anyway (sim/engine/time_law.hpp): with a half they are not limited.
  double min_copy_share = k_unlimited_copy_share;
};

struct PhaseTime {
  double core = 0;       // C
  double exposed = 0;    // D
  double bandwidth = 0;  // max over places of B_m
  double copies = 0;     // X: time with a copy in progress, in the background or waited for
  double asking = 0;     // the program's part in the moves that it requests
  double waiting = 0;    // for pending moves that the phase needs, or accesses in flight
  double total = 0;      // max(C + D, B with the copies' share) + unexplained + waiting + asking
};

struct Prediction {
  std::vector<PhaseTime> phases;
  Seconds total;
  Bytes moved;
  std::uint32_t moves = 0;
};

// Returns the mover's seconds to move an item; 0 if `from` equals `to`.
double move_time(const Problem& problem, std::uint32_t item, PlaceId from, PlaceId to);
// Returns the program's seconds for requesting a move of the item and for its stall.
double move_cost(const Problem& problem, std::uint32_t item);

// Makes a problem for `machine` under `budget` from a profile. Items are chunks; with more than `max_items`,
// adjacent chunks of one object with the most similar traffic are merged. Profiled iterations are averaged.
// Estimates of a sampled profile that exceed a phase's measured time are scaled down to it; unexplained time stays
// a constant of the phase. Uses declared by `directives` override the profile. Throws Error{invalid} when the
// profile has no iteration.
Problem make_problem(const profile::Profile& profile, const machine::Machine& machine,
                     const machine::Budget& budget, std::size_t max_items = 4096,
                     const Directives& directives = {});

// Returns, for each chunk of the profile, the item of the problem that contains it; k_no_item if none does.
// Requires: the problem was made of that profile.
std::vector<std::uint32_t> items_by_chunk(const profile::Profile& profile, const Problem& problem);

// Returns the profile with one of its iterations, and with all its objects, also those that live in other
// iterations only. Throws std::out_of_range.
profile::Profile single_iteration(const profile::Profile& profile, std::size_t iteration);

// Scales estimates down to fit the measured times, as make_problem() does, and recomputes the unexplained time.
// For use after changes of the estimates. Requires: they are not scaled.
void fit_to_measured(Problem& problem);

// Drops segments that the usual iteration does not reach, because its phase ends earlier: nothing is planned for
// them. For a phase that does reach them see repeats.hpp.
void drop_unreached_segments(Problem& problem);

// Returns the number of items for quick planning: as many as give about 12,000 cells, at least one for each
// object.
std::size_t affordable_items(const profile::Profile& profile);

// Concatenates iterations of one loop into a single acyclic problem, with free placements at both ends. Throws
// Error{invalid} if their items or places differ.
Problem concatenate_iterations(const std::vector<Problem>& iterations);

// Returns a phase's time under a placement, without moves.
PhaseTime phase_time(const Problem& problem, std::size_t phase, const Placement& placement);

// Predicts an iteration's time in steady state. The schedule is cyclic: moves from the last phase's placement back
// to the first's are included. A move begins after the last phase that accesses the item (earliest safe start,
// Unimem section 3.1.3), takes size / copy bandwidth, serialised with other moves, and shares the memories'
// bandwidth with concurrent phases. The phase that needs the item waits for the remainder.
Prediction predict(const Problem& problem, const Schedule& schedule);

// Returns the schedule with each domain's items on one place in all phases; pinned items stay on theirs.
Schedule uniform_schedule(const Problem& problem, const std::vector<PlaceId>& place_by_domain);

// Return a domain's places, fastest first (Machine::fastest_first), and its default place. Throw Error{invalid}
// for an unknown domain.
const std::vector<PlaceId>& fastest_first(const Problem& problem, DomainId domain);
PlaceId home_of(const Problem& problem, DomainId domain);
std::size_t domain_count(const Problem& problem);
std::size_t cell_count(const Problem& problem);  // of all phases

// Returns, by place, its budget less the items pinned there.
std::vector<Bytes> unpinned_budget(const Problem& problem);

// Returns whether every place stays within its budget in every phase.
bool within_budget(const Problem& problem, const Schedule& schedule);
// Returns the bytes of the items on a place.
Bytes bytes_on(const Problem& problem, const Placement& placement, PlaceId place);

// Returns the problem as JSON (schema "terrace-problem-3") for the linear programs of the Python package
// (python/terrace/solve) and for experiments; numbers round-trip exactly.
std::string dump_json(const Problem& problem);

}  // namespace terrace::model
