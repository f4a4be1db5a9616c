// SPDX-License-Identifier: Apache-2.0
// Connects loop detection (runtime/loop_finder.hpp) with the program's symbol files and the runtime. Owned by the
// agent's state (start.cpp). See main_loop_detector.hpp.
#include "agent/main_loop_detector.hpp"

#include <exception>
#include <utility>

#include "agent/heap/ordered_heap.hpp"
#include "agent/lifecycle/callers.hpp"
#include "agent/lifecycle/modules.hpp"
#include "agent/lifecycle/process.hpp"
#include "observe/pipeline/loop_events.hpp"
#include "profile/records.hpp"
#include "runtime/runtime.hpp"

namespace terrace::agent {

namespace {

// Returns "rhs" for a call, "solve:120" for a loop with its first line.
std::string name_of(Process& process, const observe::LoopTree::Node& node) {
  if (!node.is_loop) return function_name(process, node.code);
  const auto back = find_loop(process, node.loop).back;
  const auto code = back != 0 ? back : node.code;
  return observe::name_of_loop(function_name(process, code), find_symbol(process, code).site).text();
}

}  // namespace

observe::LoopCode::Mark ProgramCode::mark(std::uint64_t site) const { return find_work(process_, site).loops; }

observe::LoopCode::Loop ProgramCode::loop(observe::LoopId id) const { return find_loop(process_, id); }

observe::LoopCode::Place ProgramCode::place(std::uint64_t call_site) const {
  return find_place(process_, call_site - 1);
}

MainLoopDetector::MainLoopDetector(Process& process, const runtime::PhaseSpec& phases)
    : process_(process),
      code_(process),
      finder_(
          code_, [&process](const observe::LoopTree::Node& node) { return name_of(process, node); },
          [&process](const runtime::PhaseBoundary& boundary) { process.runtime->on_phase_boundary(boundary); },
          phases.loop, phases.found) {}

void MainLoopDetector::follow(bool simulated, std::uint32_t sample_every) {
  finder_.set_by_clock(!simulated);
  finder_.set_observes_all_iterations(simulated && sample_every <= 1);
  observe::set_loop_tree(&finder_.tree(), simulated ? observe::WorkSource::pipeline : observe::WorkSource::clock);
}

void MainLoopDetector::finish() {
  if (!process_.runtime->is_detecting_loops()) return;
  process_.runtime->on_loop_candidates(finder_.candidates());
  const auto seen = finder_.failure_reason();
  if (!seen.empty()) process_.runtime->note("note", "no main loop was found: " + seen);
}

namespace {

// Reports that the program has no hooks: a warning if a strategy needs accesses, else a note. Placement by
// intent, or by a fixed plan, needs none.
void note_no_access(Process& process) {
  if (process.is_learning && !(process.ordered && process.ordered->has_placed()))
    process.runtime->note(
        "warning", std::string(profile::k_no_access) + ": build it with terrace-cc, terrace-c++ or terrace-fc");
  else
    process.runtime->note("note", std::string(profile::k_no_access_needed));
}

}  // namespace

void finish_loops(Process& process) noexcept {
  try {
    if (process.map && !process.has_hooks)
      note_no_access(process);
    else if (process.loops)
      process.loops->finish();
  } catch (const std::exception&) {
    // No memory for the message.
  }
}

void set_real_accesses_observed(Process& process, bool wanted) noexcept {
  observe::set_tracing_enabled(wanted);
  observe::stop_work_clock(wanted);
  if (process.loops) process.loops->set_seen(!wanted);
}

void set_accesses_observed(Process& process, bool seen) noexcept {
  observe::set_tracing_enabled(seen);
  if (process.loops) process.loops->set_seen(seen);
}

}  // namespace terrace::agent
