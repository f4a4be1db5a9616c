// The profile: for each chunk and phase what was accessed, how, and how long the phase took. A value; collectors
// fill it, the store keeps it, the model reads it.
//
// Two profiles of one run look the same and differ in what they know. A *sampled* one holds what a real collector
// can deliver: sampled miss addresses and phase times; counts are estimates. An *exact* one (the oracle) holds
// the simulator's own counters; it feeds the lower bound and a separate column of results, and never a decision.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "machine/machine.hpp"
#include "memory/chunk_table.hpp"

namespace terrace::profile {

using PhaseIndex = std::uint32_t;  // position in the iteration's sequence of phases

enum class ObjectKind : std::uint8_t { heap, mapping, fixed, common, stack, small, named };

struct Object {
  memory::ObjectId id = 0;
  std::string name;  // unique in the run: "makea cg.cpp:120", "fields_.u", "(stack)"
  ObjectKind kind = ObjectKind::heap;
  Bytes size;
  Bytes chunk_size;
  memory::ChunkId first_chunk = 0;
  std::uint32_t chunks = 0;
  bool live = true;
};

// An object of which the hooks did not see all.
struct UnreachedObject {
  memory::ObjectId object = 0;
  Bytes size;  // of what was touched, and no access to it was ever reported
};

// What one phase did to one chunk, in one iteration.
struct Cell {
  memory::ChunkId chunk = 0;
  double read_lines = 0;    // lines fetched from its place
  double write_lines = 0;   // lines written back to it
  double exposure = 0;      // latencies exposed: time = exposure x the place's latency
  double samples = 0;       // time samples that met an access to it (Unimem's eq. 1); exact profiles: 0
  double line_squares = 0;  // of the lines that each miss sample stands for, summed: over the lines, what one
                            // sample stands for; exact profiles: 0
  // Of lines read, those that a stream prefetcher fetched, and of the exposure theirs, which is as much for each
  // of them; sampled profiles: 0.
  double streamed_lines = 0;
  double streamed_exposure = 0;
};

struct Phase {
  std::string name;
  Seconds time;        // measured, with the placement of that iteration
  Seconds core;        // time in which the core was not stalled on memory (C of the time law)
  double samples = 0;  // time samples taken in the phase
  double samples_with_access = 0;
  Seconds bandwidth_time;    // exact profiles: max over places of B_m as it was; sampled: 0
  double unowned_lines = 0;  // read and written, of memory that belongs to no chunk
  std::vector<Cell> cells;   // ascending by chunk
};

struct Iteration {
  std::uint32_t number = 0;
  std::vector<Phase> phases;
  double stands_for = 1;  // iterations of the run: itself, and those after it that were not followed
};

struct Profile {
  bool exact = false;
  std::string loop;
  Seconds sample_interval;  // of time samples; 0 in exact profiles
  machine::InitiatorId initiator = 0;
  double cores = 1;  // cores that the program's one thread stood for
  std::vector<Object> objects;
  std::vector<Iteration> iterations;     // those that were profiled
  std::vector<machine::PlaceId> places;  // by chunk: where it lay while it was profiled (iteration start)
  bool moving = false;                   // they lay elsewhere, too, meanwhile: a plan was in force
  double unseen = 0;                     // share of the accesses that was not followed
};

}  // namespace terrace::profile
