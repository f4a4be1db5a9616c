// SPDX-License-Identifier: Apache-2.0
// Combines the monitors of an uninstrumented program: of its pages, of its MPI calls and, if permitted, of its
// functions. A loop that MPI calls or function entries reveal takes precedence over intervals of time. The agent's
// state (start.cpp) owns one.
#pragma once

#include <mutex>

#include "agent/function_entry_monitor.hpp"
#include "agent/mpi_monitor/mpi_monitor.hpp"
#include "agent/page_use_monitor.hpp"
#include "runtime/session/session.hpp"

namespace terrace::agent {

class UninstrumentedMonitor {
 public:
  UninstrumentedMonitor(observe::WatchedPagesCollector& collector, std::mutex& mutex, Clock& clock,
                        Process& process, const runtime::Session& session,
                        void (*resolve_name)(std::uint64_t function))
      : pages_(collector, mutex, clock, session),
        functions_(process, session.phases, resolve_name),
        mpi_(process, session.directory, [this, &session] {
          // Both need the processor's few breakpoints.
          if (session.phases.source != runtime::PhaseSource::functions) end_functions();
        }) {
    pages_.yield_to([this] { return mpi_.in_loop() || functions_.in_loop(); });
    if (session.phases.detects_loops()) process.mpi = &mpi_;
  }
  void report_to(runtime::Runtime& runtime) noexcept { pages_.report_to(runtime); }
  void begin() noexcept {
    pages_.begin();
    const std::lock_guard lock(functions_mutex_);
    if (!has_ended_functions_) functions_.begin();
  }
  void end() noexcept {
    mpi_.end();
    end_functions();
    pages_.end();
  }

 private:
  // The first MPI call may precede begin().
  void end_functions() noexcept {
    const std::lock_guard lock(functions_mutex_);
    has_ended_functions_ = true;
    functions_.end();
  }

  std::mutex functions_mutex_;
  bool has_ended_functions_ = false;
  PageUseMonitor pages_;
  FunctionEntryMonitor functions_;
  MpiMonitor mpi_;
};

}  // namespace terrace::agent
