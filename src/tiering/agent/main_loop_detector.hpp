// SPDX-License-Identifier: Apache-2.0
// Detects the program's main loop at run time from its code and its main thread, and reports it to the runtime.
// The agent's state (start.cpp) makes one for instrumented programs without markers.
#pragma once

#include <string>

#include "observe/loops/loop_code.hpp"
#include "runtime/loop_finder.hpp"

namespace terrace::agent {

struct Process;

// Reads loops from the symbol files of the process.
class ProgramCode final : public observe::LoopCode {
 public:
  explicit ProgramCode(Process& process) : process_(process) {}
  [[nodiscard]] Mark mark(std::uint64_t site) const override;
  [[nodiscard]] Loop loop(observe::LoopId id) const override;
  [[nodiscard]] Place place(std::uint64_t call_site) const override;

 private:
  Process& process_;
};

class MainLoopDetector {
 public:
  // `phases`: the user's specification of phases.
  MainLoopDetector(Process& process, const runtime::PhaseSpec& phases);
  [[nodiscard]] observe::LoopTree& tree() { return finder_.tree(); }
  void set_seen(bool seen) { finder_.set_observed(seen); }
  // Starts to follow the calling thread's loops. In virtual time work is measured in accesses, of which one
  // iteration in `sample_every` is observed; on real memory by the clock.
  void follow(bool simulated, std::uint32_t sample_every);
  // Reports the candidates to the journal if no main loop was found.
  void finish();

 private:
  Process& process_;
  ProgramCode code_;
  runtime::LoopFinder finder_;
};

// Switches the observation of accesses, and informs function and loop tracking.
void set_accesses_observed(Process& process, bool seen) noexcept;
// Switches the observation of accesses on real memory. The work clock, which measures loops there, is stopped
// meanwhile.
void set_real_accesses_observed(Process& process, bool wanted) noexcept;

}  // namespace terrace::agent
