// `terrace machine measure`, what moves cost: each copier on real pages, while another thread computes.
#pragma once

#include <chrono>

#include "machine/discover/discovery.hpp"
#include "machine/file/machine_file.hpp"
#include "machine/measure/measure.hpp"

namespace terrace::transfer {

// Adds to a measured file the prices of the copiers that this system lets work, the one that serves first in
// front, and what they come from, repeated as often as the rest; what could not be measured, also because it was
// later than `deadline`, is named in the notes. On one node, chunks are moved within it.
void measure_copiers(
    machine::MachineFile& file, const machine::Discovered& discovered, const machine::Progress& progress = {},
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max());

}  // namespace terrace::transfer
