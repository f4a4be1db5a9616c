// Timed windows on pinned threads, each with a verdict whether other programs disturbed it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "machine/measure/figures.hpp"

namespace terrace::machine {

struct WindowPlan {
  std::span<const int> workers;  // processors, one thread on each; at least one
  // Processors that are kept from other programs: a companion thread occupies each without using memory, so that a
  // window in which all companions ran shares caches and memory with no program on these processors.
  std::span<const int> companions;
  std::size_t lead_in = 1;  // windows that are run first and not recorded
  std::size_t windows = 5;
  // Longest time in which a cache line passes from one worker to the next if they share a cache; 0: no limit.
  // The host of a virtual machine may run two of its processors on cores that share none.
  Seconds max_hop{};
};

using Section = std::function<void(std::size_t thread, std::size_t window)>;

// Runs `section` in all windows, on all workers at once, and returns the seconds of each recorded window, from the
// first worker's begin to the last worker's end. `prepare`, if any, runs before each window, outside its time; a
// window is clean if neither its preparation nor its section was interrupted by another program on any processor
// of the plan, and no line took longer than `max_hop` just before its section. Throws the first exception of a
// section again; sections must not wait for another worker that may throw.
std::vector<Window> run_windows(const WindowPlan& plan, const Section& section, const Section& prepare = {});

}  // namespace terrace::machine
