// SPDX-License-Identifier: Apache-2.0
// Derives main loop, iterations and phases of an uninstrumented program from its MPI calls (call_events.hpp).
// Connects the layer of MPI functions, the launcher's answers on loops, breakpoints in loops, and the loop
// finder (runtime/mpi/mpi_loop_finder.hpp). UninstrumentedMonitor owns one.
//
// In Python programs the frames of the interpreter take the place of the native call path, and show the iterations
// of Python loops without breakpoints (python_paths.hpp).
//
// Where the code has no loops around the calls, breakpoints are not permitted, or Python's frames are unavailable,
// repetitions in the sequence of calls are the iterations (runtime/regions/region_phases.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace terrace::agent {

struct MpiCall;
struct Process;

class MpiMonitor {
 public:
  // Borrows the process. `directory`: of the session. `on_first_call` is called at the first MPI call.
  MpiMonitor(Process& process, std::string directory, std::function<void()> on_first_call);
  ~MpiMonitor();
  MpiMonitor(const MpiMonitor&) = delete;
  MpiMonitor& operator=(const MpiMonitor&) = delete;

  // Called by the layer at an outermost call, in the program's main thread. `ticks`: the present time
  // (read_ticks()).
  void on_begin(const MpiCall& call, std::uint64_t ticks) noexcept;
  void on_end(const MpiCall& call, std::uint64_t ticks) noexcept;
  // Ends the main loop, and stops monitoring.
  void end() noexcept;
  // Returns whether a loop was found and has not ended. Thread-safe.
  [[nodiscard]] bool in_loop() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace terrace::agent
