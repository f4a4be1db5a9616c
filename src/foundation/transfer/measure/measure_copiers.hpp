// SPDX-License-Identifier: Apache-2.0
// Declares the migration part of `terrace machine measure`: measures each copier on real pages while another
// thread computes.
#pragma once

#include <chrono>

#include "machine/discover/discovery.hpp"
#include "machine/file/machine_file.hpp"
#include "machine/measure/measure.hpp"

namespace terrace::transfer {

// Adds to a measured machine file the prices of the copiers that this system permits, cheapest first, with the
// measurements behind them, repeated as often as the file's others. Notes name what could not be measured, also
// for lack of time (`deadline`). On a single node, chunks are moved within it.
void measure_copiers(
    machine::MachineFile& file, const machine::Discovered& discovered, const machine::Progress& progress = {},
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max());

}  // namespace terrace::transfer
