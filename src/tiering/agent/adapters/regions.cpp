// SPDX-License-Identifier: Apache-2.0
// Converts regions of the main thread, which the adapters of Kokkos, NVTX, OMPT and Caliper report, to loop and
// phase boundaries of the runtime. See regions.hpp.
#include "agent/adapters/regions.hpp"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <string>

#include "agent/lifecycle/in_process.hpp"
#include "agent/linking/next.hpp"
#include "core/system_time.hpp"
#include "observe/threads/thread.hpp"
#include "profile/records.hpp"
#include "runtime/regions/region_phases.hpp"
#include "runtime/runtime.hpp"

namespace terrace::agent {

namespace {

constinit void* g_main_thread = nullptr;
constinit std::atomic<bool> g_are_regions_disabled{false};
constinit std::atomic<bool> g_in_loop{false};          // a loop that was derived from regions is open
constinit runtime::RegionPhases* g_regions = nullptr;  // the main thread's

// Runs in the program's main thread, which loads the library.
__attribute__((constructor)) void note_main() { g_main_thread = __builtin_thread_pointer(); }

// A region's name truncated to the maximum length of phase names (template names may be very long), with '@'
// replaced, which separates the names of phase and segment (core/segment_name.hpp).
struct PhaseName {
  char text[201];
};
PhaseName phase_name(std::string_view name) {
  PhaseName result{};
  std::replace_copy(name.begin(), name.begin() + std::min<std::ptrdiff_t>(name.size(), sizeof result.text - 1),
                    result.text, '@', '-');
  return result;
}

// Returns the program's time. Virtual in simulations, because thresholds on durations apply to it.
Seconds region_time() noexcept {
  auto* const here = process();
  if (here && here->simulated) return here->runtime->now();
  static constinit NextFunction<int (*)(clockid_t, timespec*)> next{"clock_gettime"};
  timespec now{};
  (*next)(CLOCK_MONOTONIC, &now);
  return Seconds{to_seconds(now)};
}

// Notes in the journal, once, which kinds of regions the phases come from.
void note_phase_source(Process& here, const std::string& kinds) {
  static std::string said;
  if (said == kinds) return;
  said = kinds;
  here.runtime->note("note", std::string(profile::k_phases_from) + kinds);
}

// Passes a boundary that RegionPhases has derived to the runtime.
void submit_boundary(const runtime::PhaseBoundary& boundary) {
  auto* const here = process();
  if (!here || g_are_regions_disabled.load()) return;
  auto& to = *here->runtime;
  if (boundary.ends_loop) {
    g_in_loop.store(false);
    to.loop_end();
  }
  if (!boundary.begins_loop.empty()) {
    note_phase_source(*here, g_regions->kinds());
    g_in_loop.store(true);
    to.loop_begin(boundary.loop());
  }
  if (!boundary.phase.empty()) to.phase(boundary.phase);
}

// Requires: main thread, inside Terrace. Throws std::bad_alloc.
runtime::RegionPhases& region_phases() {
  if (!g_regions) g_regions = new runtime::RegionPhases(region_time, submit_boundary);
  return *g_regions;
}

// Runs `work` with the main thread's regions. Swallows exceptions: the region is then not recorded. Nor are
// regions that a signal handler begins or ends during another call.
template <class Work>
void with_regions(Work work) noexcept {
  static constinit volatile bool is_busy = false;
  if (is_busy) return;
  const observe::RuntimeScope inside;
  is_busy = true;
  try {
    work(region_phases());
  } catch (const std::exception&) {  // no memory
  }
  is_busy = false;
}

}  // namespace

bool RegionAdapter::is_active() noexcept {
  return process() && __builtin_thread_pointer() == g_main_thread &&
         !g_are_regions_disabled.load(std::memory_order_relaxed);
}

std::uint64_t RegionAdapter::unique_key(std::uint64_t key) const {
  return key ^ (reinterpret_cast<std::uint64_t>(kind_) * 0x9e3779b97f4a7c15U);
}

void RegionAdapter::begin(std::uint64_t key, std::string_view text) const noexcept {
  if (!is_active()) return;
  with_regions([&](runtime::RegionPhases& phases) {
    phases.begin(unique_key(key), phases.intern_name(kind_, phase_name(text).text));
  });
}

void RegionAdapter::end(std::uint64_t key) const noexcept {
  if (!is_active()) return;
  with_regions([&](runtime::RegionPhases& phases) { phases.end(unique_key(key)); });
}

void disable_implicit_regions() noexcept {
  if (g_are_regions_disabled.exchange(true)) return;
  auto* const here = process();
  if (here && g_in_loop.exchange(false)) here->runtime->loop_end();
}

}  // namespace terrace::agent
