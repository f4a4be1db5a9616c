// SPDX-License-Identifier: Apache-2.0
// Detects phases of an uninstrumented program from the entries of its functions, if the user has the right to
// probe them (observe/perf/function_probes.hpp). UninstrumentedMonitor owns one. Probes the functions that
// --phases names, or else the hot functions of the main thread, which sampling finds; their calls are repeating
// regions (runtime/regions/region_phases.hpp). Runs in a background thread.
#pragma once

#include <atomic>
#include <memory>

#include "runtime/runtime_parts.hpp"

namespace terrace::runtime {
class Runtime;
}

namespace terrace::agent {

struct Process;

class FunctionEntryMonitor {
 public:
  // Borrows process and phases. `resolve_name` resolves the name of a function for the runtime.
  FunctionEntryMonitor(Process& process, const runtime::PhaseSpec& phases,
                       void (*resolve_name)(std::uint64_t function));
  ~FunctionEntryMonitor();
  FunctionEntryMonitor(const FunctionEntryMonitor&) = delete;
  FunctionEntryMonitor& operator=(const FunctionEntryMonitor&) = delete;

  // Starts the thread.
  void begin() noexcept;
  void end() noexcept;
  // Returns whether a loop was found and has not ended. Thread-safe.
  [[nodiscard]] bool in_loop() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace terrace::agent
