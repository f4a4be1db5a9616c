// SPDX-License-Identifier: Apache-2.0
// Runs timed windows (repetitions of a section of code) on pinned threads, and detects whether other programs
// disturbed a window. The figures of `terrace machine measure` are measured so.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "machine/measure/figures.hpp"

namespace terrace::machine {

struct WindowPlan {
  std::span<const int> workers;  // processors, one thread on each; at least one
  // Processors that are kept from other programs: a companion thread occupies each without using memory. If all
  // companions ran throughout a window, no program on these processors shared caches or memory with it.
  std::span<const int> companions;
  std::size_t lead_in = 1;  // warm-up windows that are not recorded
  std::size_t windows = 5;
  // Longest time for a cache line to pass between workers that share a cache; 0: no limit. The host of a virtual
  // machine may run its processors on cores without a shared cache.
  Seconds max_hop{};
};

// The timed code of a window: a kernel over a part of the memory.
using Section = std::function<void(std::size_t thread, std::size_t window)>;

// Runs `section` in all windows on all workers concurrently. Returns the seconds of each recorded window, from the
// first worker's begin to the last worker's end. `prepare`, if any, runs before each window, outside its time. A
// window is clean if no other program interrupted its preparation or section on any processor of the plan. In
// addition, no line may have taken longer than `max_hop` just before the section. Rethrows the first exception of
// a section. Requires: sections do not wait for another worker that may throw.
std::vector<Window> run_windows(const WindowPlan& plan, const Section& section, const Section& prepare = {});

}  // namespace terrace::machine
