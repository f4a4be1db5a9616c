// SPDX-License-Identifier: Apache-2.0
// Defines the counts of a profile: for each phase of an iteration its accesses by chunk, and its time. Collectors
// fill them, the store keeps them, the model makes placement problems of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/identifiers.hpp"
#include "core/units.hpp"

namespace terrace::observe {

// The accesses of one phase to one chunk, in one iteration.
struct Cell {
  ChunkId chunk = 0;
  double read_lines = 0;   // lines fetched from its place
  double write_lines = 0;  // lines written back to it
  double exposure = 0;     // latencies exposed: time = exposure x the place's latency
  double samples = 0;      // time samples that fell on an access to it (Unimem's eq. 1); exact profiles: 0
  // Sum of the squares of the lines that each miss sample stands for; divided by the lines, the mean lines of a
  // sample. Exact profiles: 0.
  double line_squares = 0;
  // Lines read that a stream prefetcher fetched, and their exposure, which is equal for each of them.
  // Sampled profiles: 0.
  double streamed_lines = 0;
  double streamed_exposure = 0;
};

struct Phase {
  std::string name;
  Seconds time;        // by the run's clock, with the placement of that iteration
  Seconds core;        // time in which the core was not stalled on memory (C of the time law)
  double samples = 0;  // time samples taken in the phase
  double samples_with_access = 0;
  Seconds bandwidth_time;    // exact profiles: max over places of B_m in that placement; sampled: 0
  double unowned_lines = 0;  // read and written, of memory that belongs to no chunk
  std::vector<Cell> cells;   // ascending by chunk
  // Indexed by place: prefetched lines that are not attributed to chunks yet, so that they are in no cell. Empty
  // once they are; not part of a profile.
  std::vector<double> streamed_on{};
};

// Adds two lists of cells that are ascending by chunk; so is the sum.
std::vector<Cell> add(const std::vector<Cell>& a, const std::vector<Cell>& b);
// Adds the counts and the time of `second` to `first`.
void add(Phase& first, const Phase& second);

struct Iteration {
  std::uint32_t number = 0;
  std::vector<Phase> phases;
  double stands_for = 1;  // iterations that it represents: itself, and later ones that were not observed
};

}  // namespace terrace::observe
