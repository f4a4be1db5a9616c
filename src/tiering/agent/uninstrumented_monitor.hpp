// SPDX-License-Identifier: Apache-2.0
// Combines the two monitors of an uninstrumented program: of its pages and, if permitted, of its functions. A loop
// that function entries reveal takes precedence over intervals. The agent's state (start.cpp) owns one.
#pragma once

#include <mutex>

#include "agent/function_entry_monitor.hpp"
#include "agent/page_use_monitor.hpp"
#include "runtime/session/session.hpp"

namespace terrace::agent {

class UninstrumentedMonitor {
 public:
  UninstrumentedMonitor(observe::WatchedPagesCollector& collector, std::mutex& mutex, Clock& clock,
                        Process& process, const runtime::Session& session,
                        void (*resolve_name)(std::uint64_t function))
      : pages_(collector, mutex, clock, session.events), functions_(process, session.phases, resolve_name) {
    pages_.yield_to([this] { return functions_.in_loop(); });
  }
  void report_to(runtime::Runtime& runtime) noexcept { pages_.report_to(runtime); }
  void begin() noexcept {
    pages_.begin();
    functions_.begin();
  }
  void end() noexcept {
    functions_.end();
    pages_.end();
  }

 private:
  PageUseMonitor pages_;
  FunctionEntryMonitor functions_;
};

}  // namespace terrace::agent
