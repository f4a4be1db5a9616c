// SPDX-License-Identifier: Apache-2.0
// Declares `terrace machine measure`: measures bandwidth and latency of each place from each initiator, by
// STREAM kernels, pure reads and writes, and pointer chases. Derives the memory-level parallelism from them, and
// measures cache latencies.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "machine/discover/discovery.hpp"
#include "machine/file/machine_file.hpp"

namespace terrace::machine {

// Time limits in seconds for the figures of a domain; paths out of it have a tenth.
struct TimeLimits {
  double minimum = 30;    // so that a disturbance of seconds does not affect all windows of a figure
  double repeating = 80;  // after which unconfirmed figures are no longer repeated
  double measuring = 95;  // after which measuring fails, even before the minimum of rounds
};
inline constexpr TimeLimits k_quick_limits{7, 14, 20};

struct MeasureOptions {
  // Smaller arrays, fewer thread counts and rounds, one kind of pages, and a larger spread.
  bool quick = false;
  // Rounds over all figures. 0: at least 4 (quick: 2), and further ones until the figures are confirmed. Otherwise
  // exactly as many as stated, and nothing is repeated or refused.
  std::uint32_t repetitions = 0;
  TimeLimits limits{};
};

// Callback with the share done, from 0 to 1, and a description of what is being measured.
using Progress = std::function<void(double done, std::string_view what)>;

// Measures the machine. Returns it with measured paths, copies, caches and parallelism, and with all single
// measurements and their spread. Figures that cannot be measured keep their discovered value, and the notes name
// them. Measuring a busy machine takes longer. Throws Error{failed} if
//   - not even the nearest place can be measured,
//   - figures contradict physics.hpp, or are not confirmed after repetition,
//   - programs on processors that are not measured use the memory, or
//   - the time limit is reached before the minimum of rounds.
MachineFile measure_machine(const Discovered& discovered, const MeasureOptions& options,
                            const Progress& progress = {});

}  // namespace terrace::machine
