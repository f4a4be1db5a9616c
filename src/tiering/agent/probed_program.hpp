// Phases of a program without hooks, by the entries of its functions, where this user may probe them
// (observe/perf/function_probes.hpp): the functions that --phases names; or else those that a while of sampling
// finds the main thread in, whose calls are regions that repeat (runtime/regions/region_phases.hpp).
#pragma once

#include <atomic>
#include <memory>

#include "runtime/runtime_parts.hpp"

namespace terrace::runtime {
class Runtime;
}

namespace terrace::agent {

struct Process;

class ProbedProgram {
 public:
  // Both outlive it. `learn`: makes the name of the function there known to the runtime.
  ProbedProgram(Process& process, const runtime::PhaseSpec& phases, void (*learn)(std::uint64_t function));
  ~ProbedProgram();
  ProbedProgram(const ProbedProgram&) = delete;
  ProbedProgram& operator=(const ProbedProgram&) = delete;

  // The thread begins.
  void begin() noexcept;
  void end() noexcept;
  // A loop was found, and is not over. Any thread.
  [[nodiscard]] bool in_loop() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace terrace::agent
