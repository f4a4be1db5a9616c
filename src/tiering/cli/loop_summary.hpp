// SPDX-License-Identifier: Apache-2.0
// Reads from a profile the main loop that its closing line states.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace terrace::cli {

struct LoopSummary {
  std::string program, planner, backend;
  double loop = 0;  // seconds in the main loop
  std::int64_t iterations = 0;
  std::int64_t observed = 0;          // of them
  std::int64_t before = 0;            // iterations before the loop was detected, which are not among these
  bool is_estimate = false;           // `before` is one
  std::int64_t moves = 0, moved = 0;  // moved: bytes
  // Shares of uninstrumented code; 0: not measured.
  double time_share = 0, time_at_least = 0, heap_share = 0, heap_uncovered = 0;  // heap_uncovered: bytes
  // Virtual time: seconds of core time per instruction, and whether they were calibrated for the program.
  double instruction_time = 0;
  bool core_time_fitted = false;
  std::string core_time_from;                              // source of the core time, from the profile
  std::vector<std::pair<std::string, double>> core_times;  // of phases with a core time of their own
  std::int64_t run = 0;
};

// Returns the summary of the process that spent the longest time in its main loop: among MPI ranks, the one that
// the others wait for. Without a loop, the process that computed longest; instrumented processes take precedence.
LoopSummary read_longest_loop(const std::string& path);

}  // namespace terrace::cli
