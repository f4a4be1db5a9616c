// What a collector counts: for each phase of an iteration what was accessed, how, and how long the phase took.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/identifiers.hpp"
#include "core/units.hpp"

namespace terrace::observe {

// What one phase did to one chunk, in one iteration.
struct Cell {
  ChunkId chunk = 0;
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
  // By place: lines that were prefetched there and are in no cell yet, because it is not known of which chunks
  // they are. Empty once it is; part of no profile.
  std::vector<double> streamed_on{};
};

// Both lists ascend by chunk, and so does the sum.
std::vector<Cell> add(const std::vector<Cell>& a, const std::vector<Cell>& b);
// What the second counted, and how long it took, is the first one's, too.
void add(Phase& first, const Phase& second);

struct Iteration {
  std::uint32_t number = 0;
  std::vector<Phase> phases;
  double stands_for = 1;  // iterations of the run: itself, and those after it that were not followed
};

}  // namespace terrace::observe
