// The main loop of the program, found while it runs: what its code and its first thread do, told to the runtime.
#pragma once

#include <string>

#include "observe/loops/loop_code.hpp"
#include "runtime/loop_finder.hpp"

namespace terrace::agent {

struct Process;

// By the symbol files of the process.
class ProgramCode final : public observe::LoopCode {
 public:
  explicit ProgramCode(Process& process) : process_(process) {}
  [[nodiscard]] Mark mark(std::uint64_t site) const override;
  [[nodiscard]] Loop loop(observe::LoopId id) const override;
  [[nodiscard]] Place place(std::uint64_t call_site) const override;

 private:
  Process& process_;
};

class ProgramLoops {
 public:
  // `phases`: what is known of them.
  ProgramLoops(Process& process, const runtime::PhaseSpec& phases);
  [[nodiscard]] observe::LoopTree& tree() { return finder_.tree(); }
  void set_seen(bool seen) { finder_.set_observed(seen); }
  // The calling thread's loops are followed from now on: in virtual time by its accesses, of which `sample_every`
  // turns leave some out; on real memory by the clock.
  void follow(bool simulated, std::uint32_t sample_every);
  // Notes what was seen where no main loop was.
  void finish();

 private:
  Process& process_;
  ProgramCode code_;
  runtime::LoopFinder finder_;
};

// Whether the program's accesses are seen from now on: its functions and its loops have to know.
void set_accesses_observed(Process& process, bool seen) noexcept;
// The same on real memory: the clock, by which loops are found there, stands while accesses are seen.
void set_real_accesses_observed(Process& process, bool wanted) noexcept;

}  // namespace terrace::agent
