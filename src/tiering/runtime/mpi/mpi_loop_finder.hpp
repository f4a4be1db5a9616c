// SPDX-License-Identifier: Apache-2.0
// Finds the main loop of an MPI program, its iterations and its phases, from the MPI calls of the main thread and
// from hits of breakpoints in loops. The agent's MPI monitor feeds it.
//
// The sequence of calls alone does not say what an iteration is: "6 times (10 W, then A)" and "60 times W, with A
// every 10th time" are the same sequence. So candidates are the loops in the program's code around the call sites
// of the stack at each call, and a breakpoint on an instruction of a candidate counts its iterations.
//
// Main loop: the outermost candidate with two complete iterations of similar duration, once it was observed for
// k_short_patience. An inner loop is chosen provisionally where its enclosing loops have not iterated for a while;
// it is withdrawn in favour of an enclosing loop that turns out to have similar iterations. An iteration begins
// with the first MPI call after the breakpoint was reached; that shifts all iterations by the same part of the
// loop. Phases: see mpi_phase_choice.hpp.
//
// Iterations that ended before the breakpoint was set are counted by the call paths that occur equally often in
// each observed iteration; if there are none, they are estimated from the mean duration.
//
// Loops whose iterations are all reported (k_reported_head) need no probe, and their iterations are exact.
//
// Not thread-safe: the thread that makes the calls feeds it and receives the boundaries, synchronously.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/mpi/mpi_calls.hpp"
#include "runtime/mpi/mpi_phase_choice.hpp"
#include "runtime/phase_source.hpp"

namespace terrace::runtime {

class MpiLoopFinder {
 public:
  struct Names {
    std::function<std::string(LoopHead)> loop;  // "main:120"
    std::function<std::string(CallPath)> call;  // "MPI_Waitall exchange:33"
    std::function<std::string(CallPath)> site;  // "exchange:33"
  };
  using BoundaryCallback = std::function<void(const PhaseBoundary&)>;

  static constexpr std::size_t k_max_probes = 4;        // x86-64 has four breakpoints
  static constexpr std::size_t k_max_events = 1 << 16;  // that are remembered
  static constexpr std::size_t k_min_events = 4;        // in a loop before it is probed
  static constexpr double k_max_ratio = 2;              // of the durations of similar iterations
  static constexpr Seconds k_patience{0.5};             // until an inner loop is chosen provisionally
  // Applies instead if no enclosing loop has begun an iteration, and to outermost loops.
  static constexpr Seconds k_short_patience{0.1};
  static constexpr std::uint32_t k_min_inner = 8;  // its complete iterations then

  MpiLoopFinder(Names names, BoundaryCallback on_boundary)
      : names_(std::move(names)), on_boundary_(std::move(on_boundary)) {}

  // Sets the loops around the call sites of a path, outermost first. Until then the path is in no known loop.
  void set_loops(CallPath path, std::vector<LoopHead> loops);
  // Rejects a candidate whose iterations are too frequent to be probed.
  void reject(LoopHead head);
  // Returns the loops to probe, outermost first. May change with each call.
  [[nodiscard]] const std::vector<LoopHead>& probes() const { return probes_; }
  // Returns a version that changes whenever probes() may have.
  [[nodiscard]] std::uint64_t probes_version() const { return probes_version_; }

  // Reports how often the loop's breakpoint was reached since the last MPI call. Called before on_call_begin.
  void on_iterations(LoopHead head, std::uint32_t times);
  void on_call_begin(CallPath path, bool ends_phase, Seconds now);
  // Reports the end of the last call that began.
  void on_call_end(Seconds now);
  // Ends the main loop, at the end of MPI or of the program.
  void finish();

  [[nodiscard]] bool in_loop() const { return is_reported_; }
  // Returns the iterations of the main loop so far, those before it was found included.
  [[nodiscard]] std::uint64_t num_iterations() const;

 private:
  // A candidate that the program is in.
  struct Active {
    Active(LoopHead of, std::size_t number) : head(of), first_event(number) {}
    LoopHead head;
    std::size_t first_event;               // of this visit; events are numbered from the first one
    std::optional<std::size_t> probed_at;  // the event from which it was probed
    Seconds observed_since;                // the time of that event, or of the first iteration; 0: neither
    std::uint32_t pending = 0;             // hits since the last event
    std::uint64_t without_calls = 0;       // iterations without any MPI call, or forgotten
    std::vector<std::size_t> iterations;   // the events that began one
  };

  // The knowledge of a call path.
  struct Path {
    bool has_loops = false;       // set_loops() was called
    std::vector<LoopHead> loops;  // around it, outermost first, without rejected ones
    std::uint64_t checked = 0;    // active_version_ when active_ agreed with `loops`
    MpiPhaseBoundaries phase;     // of the main loop
  };

  [[nodiscard]] const MpiCallEvent& event(std::size_t number) const { return events_[number - forgotten_]; }
  [[nodiscard]] std::size_t num_events() const { return forgotten_ + events_.size(); }
  [[nodiscard]] bool is_active(LoopHead head) const;
  void update_active(std::size_t number, Path& path);
  void rebuild_active();
  void choose_probes();
  // Begins the iterations whose breakpoints were reached. Returns whether any did.
  bool begin_iterations(std::size_t number);
  [[nodiscard]] bool is_steady(const Active& loop) const;
  [[nodiscard]] std::size_t choose_main() const;
  void select_main(std::size_t position);
  struct EarlierIterations {
    std::uint64_t number = 0;
    bool is_estimate = false;
  };
  [[nodiscard]] EarlierIterations iterations_before(const Active& loop) const;
  void report_iteration(bool begins_loop);
  void report_phase(std::string name);
  void end_main();
  void forget_events();

  static constexpr std::size_t k_nothing = ~std::size_t{0};

  Names names_;
  BoundaryCallback on_boundary_;
  std::unordered_map<CallPath, Path> paths_;
  Path* last_path_ = nullptr;  // of the last event
  std::unordered_set<LoopHead> rejected_;
  std::vector<LoopHead> probes_;
  std::uint64_t probes_version_ = 0;
  std::uint64_t chosen_for_ = 0;  // active_version_ when the probes were chosen; 0: they may change with any call
  std::vector<MpiCallEvent> events_;
  std::size_t forgotten_ = 0;  // events before the remembered ones
  std::vector<Active> active_;
  std::uint64_t active_version_ = 1;  // incremented when active_, or the loops of a path, may have changed
  bool is_stale_ = false;             // loops of earlier events have become known
  LoopHead main_ = 0;                 // 0: none
  bool is_reported_ = false;
  std::uint64_t before_ = 0;    // iterations of the main loop before it was reported
  bool is_estimate_ = false;    // before_ is an estimate
  std::uint64_t reported_ = 0;  // iterations since then
  std::uint64_t finished_ = 0;  // iterations of the main loop's visit that has ended
  std::string loop_name_;
};

}  // namespace terrace::runtime
