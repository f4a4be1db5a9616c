// `terrace machine measure`: bandwidth and latency of each place as each initiator sees it, by STREAM kernels, by
// pure reads and writes, and by pointer chases; the parallelism of misses that follows from them; cache latencies.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "machine/discover/discovery.hpp"
#include "machine/file/machine_file.hpp"

namespace terrace::machine {

// Seconds for the figures of a domain; paths out of it have a tenth.
struct TimeLimits {
  double least = 30;  // that all figures are measured, so that no disturbance of seconds meets all of one figure
  double repeating = 80;  // after which figures that stay wrong are given up
  double measuring = 95;  // after which the least rounds are given up, too
};
inline constexpr TimeLimits k_quick_limits{7, 14, 20};

struct MeasureOptions {
  // Smaller arrays, fewer thread counts and rounds, one kind of pages, and a larger spread.
  bool quick = false;
  // Rounds over all figures. 0 takes at least 4 (quick: 2), and as many more as it takes until the figures are
  // confirmed. Otherwise there are as many as stated, and nothing is repeated or refused.
  std::uint32_t repetitions = 0;
  TimeLimits limits{};
};

// What is being measured now, and the share of all that is done: from 0, and at last 1.
using Progress = std::function<void(double done, std::string_view what)>;

// The machine with measured numbers in its paths, copies, caches and parallelism, and all single measurements with
// their spread. What could not be reached keeps its discovered number and is named in the notes. The machine may
// be busy meanwhile: that takes longer. Throws Error{failed} when not even the nearest place can be measured, when
// figures contradict physics.hpp or are not confirmed although they were repeated, when programs on other
// processors than those that are measured use the memory, or when the time is up before the least rounds are done.
MachineFile measure_machine(const Discovered& discovered, const MeasureOptions& options,
                            const Progress& progress = {});

}  // namespace terrace::machine
