// SPDX-License-Identifier: Apache-2.0
// Implements the listener of the MPI layer (call_events.hpp): passes the calls of all threads to the statistics
// and the placer of MPI's objects, and those of the main thread to the monitor.
#include "agent/lifecycle/in_process.hpp"
#include "agent/mpi/call_events.hpp"
#include "agent/mpi_monitor/mpi_monitor.hpp"
#include "agent/mpi_monitor/mpi_statistics.hpp"
#include "agent/mpi_objects/mpi_object_placer.hpp"
#include "core/tick_clock.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

namespace {

constinit void* g_main_thread = nullptr;

// Runs in the program's main thread, which loads the library.
__attribute__((constructor)) void note_main() { g_main_thread = __builtin_thread_pointer(); }

// Returns the monitor of the calling thread's MPI calls, or null.
MpiMonitor* find_monitor(const Process& here) noexcept {
  return __builtin_thread_pointer() == g_main_thread ? here.mpi : nullptr;
}

// The first call starts a deferred Terrace: a program that uses MPI is worth a profile.
void on_call_begin(const MpiCall* call) noexcept {
  auto* const here = ensure_started();
  if (!here) return;
  const auto ticks = read_ticks();
  if (auto* const monitor = find_monitor(*here)) {
    const observe::RuntimeScope inside;
    monitor->on_begin(*call, ticks);
  }
  if (here->mpi_objects) here->mpi_objects->on_call_begin(*call);
  mpi_statistics().on_begin(ticks);
}

void on_call_end(const MpiCall* call) noexcept {
  auto* const here = process();
  if (!here) return;
  const auto ticks = read_ticks();
  const observe::RuntimeScope inside;
  mpi_statistics().on_end(*call, ticks);
  if (here->mpi_objects) here->mpi_objects->on_call_end(*call);
  if (auto* const monitor = find_monitor(*here)) monitor->on_end(*call, ticks);
}

constexpr MpiListener k_listener{&on_call_begin, &on_call_end};

}  // namespace

extern "C" [[gnu::visibility("default")]] const MpiListener* terrace_mpi_listener() noexcept {
  return &k_listener;
}

}  // namespace terrace::agent
