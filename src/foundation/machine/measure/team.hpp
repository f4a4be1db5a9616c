// Threads pinned one to a processor that run a timed section together.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "core/units.hpp"

namespace terrace::machine {

// Binds the calling thread to a processor; returns false where the system refuses.
bool pin_to_processor(int processor);

// Runs `section(thread, round)` on every processor of the list, one thread each, `rounds` times; calls
// `finished(round, time)` on one of them with the time from all having started to all having ended. Returns how
// many threads could be pinned. The first exception of a section is thrown again here.
std::size_t run_team(std::span<const int> processors, std::size_t rounds,
                     const std::function<void(std::size_t thread, std::size_t round)>& section,
                     const std::function<void(std::size_t round, Seconds time)>& finished);

}  // namespace terrace::machine
