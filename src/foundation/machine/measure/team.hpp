// SPDX-License-Identifier: Apache-2.0
// Runs a timed section on several threads, each pinned to a processor. Measurements of machines and copiers use
// it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "core/units.hpp"

namespace terrace::machine {

// Binds the calling thread to a processor; returns false if the system refuses.
bool pin_to_processor(int processor);

// Runs `section(thread, round)` on one thread for each processor, `rounds` times. After each round, one thread
// calls `finished(round, time)` with the time from the start to the end of all threads. Returns how many threads
// could be pinned. Rethrows the first exception of a section.
std::size_t run_team(std::span<const int> processors, std::size_t rounds,
                     const std::function<void(std::size_t thread, std::size_t round)>& section,
                     const std::function<void(std::size_t round, Seconds time)>& finished);

}  // namespace terrace::machine
