// SPDX-License-Identifier: Apache-2.0
// Interposes the entry points of libgomp at which OpenMP threads wait, in virtual time (mutual exclusion:
// waits_sections.cpp). The library still manages teams, loops and sections. Its workers are scheduled while they
// run the program's code, and wait for one another in the scheduler instead of the library. So static and dynamic
// schedules, critical sections and reductions are repeatable.
//
// Explicit tasks run immediately on the thread that creates them, which OpenMP permits; they are not distributed
// over the team. Ordered regions and doacross loops wait inside the library and are not repeatable.
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "agent/interpose/barriers.hpp"
#include "agent/interpose/openmp_functions.hpp"
#include "agent/interpose/openmp_team.hpp"
#include "agent/interpose/scheduling.hpp"
#include "agent/interpose/threads.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "core/futex.hpp"
#include "observe/coverage/time_samples.hpp"
#include "observe/threads/thread.hpp"
#include "runtime/runtime.hpp"

namespace terrace::agent {

constinit thread_local OpenMpTeam* t_team = nullptr;

OpenMp openmp_of(const void* caller) {
  return t_team && is_in_terrace(reinterpret_cast<std::uint64_t>(caller)) ? t_team->openmp : OpenMp(caller);
}

namespace {

using Work = OpenMpWork;
using Team = OpenMpTeam;

// Returns whether the calling thread is in a scheduled team of several threads, made by the same copy of the
// library.
bool in_team(const OpenMp& openmp) {
  return t_team && t_team->barrier && t_team->openmp.is_same_copy(openmp) && is_scheduled();
}

// Runs the master: registers all workers at the master's present time, and waits at the end until all have ended.
void run_master(Team& team) {
  const auto size = static_cast<std::uint32_t>(team.openmp.function<int (*)()>("omp_get_num_threads")());
  {
    const observe::RuntimeScope inside;
    team.numbers.resize(size);
    team.numbers[0] = this_thread();
    if (size > 1) team.barrier = std::make_unique<Barrier>(size);
  }
  publish(team.size, size);
  await_at_least(team.here, size - 1);
  for (std::uint32_t worker = 1; worker < size; ++worker) register_thread(team.numbers[worker]);
  team.working = size - 1;
  publish(team.open, 1);
  team.work(team.data);
  while (team.working > 0 && is_scheduled()) wait_for(key_of(&team));
  for (std::uint32_t worker = 1; worker < size; ++worker) sync_clock(team.numbers[0], team.numbers[worker]);
  for (std::uint32_t worker = 1; worker < size; ++worker) unregister_thread(team.numbers[worker]);
}

// Runs a worker: registers its number, waits for the master, and executes the region while scheduled.
void run_worker(Team& team) {
  await_at_least(team.size, 1);
  team.numbers[static_cast<std::size_t>(team.openmp.function<int (*)()>("omp_get_thread_num")())] = this_thread();
  if (team.here.fetch_add(1, std::memory_order_release) + 2 == team.size.load(std::memory_order_relaxed)) {
    const observe::RuntimeScope inside;
    futex_wake(team.here, 1);
  }
  await_at_least(team.open, 1);
  enter_schedule(this_thread());
  attach_this_thread();
  team.work(team.data);
  --team.working;
  if (team.working == 0) wake(key_of(&team), 1);
  leave_schedule();
}

// The function that the library runs on every thread of a team.
void run_team(void* given) {
  auto& team = *static_cast<Team*>(given);
  Team* const before = t_team;
  t_team = &team;
  {
    const ScopedProgramCode own;
    if (team.openmp.function<int (*)()>("omp_get_thread_num")() == 0)
      run_master(team);
    else
      run_worker(team);
  }
  t_team = before;
}

// Runs `parallel(work, data)`, a parallel region of the library.
template <class Parallel>
auto run_scheduled(const OpenMp& openmp, Work work, void* data, Parallel parallel) {
  if (!in_virtual_time()) return parallel(work, data);
  Team team(openmp, work, data);
  const ScopedWorkerCreation making;
  return parallel(run_team, static_cast<void*>(&team));
}

void team_barrier() { t_team->barrier->wait(); }

constexpr unsigned k_task_if = 1u << 10;  // flag of GOMP_taskloop: tasks may be deferred

// Notes in the journal, once, that explicit tasks are not distributed over the team.
void note_tasks() {
  static constinit std::atomic<bool> noted{false};
  if (in_virtual_time() && !noted.exchange(true))
    process()->runtime->note("note", "OpenMP's tasks run at once, on the threads that make them");
}

}  // namespace

}  // namespace terrace::agent

namespace agent = terrace::agent;
using agent::Work;

extern "C" {

// --- parallel regions
// ---------------------------------------------------------------------------------------------------------

TERRACE_EXPORT void GOMP_parallel(Work work, void* data, unsigned threads, unsigned flags) {
  const agent::OpenMp openmp(reinterpret_cast<const void*>(work));
  const auto next = openmp.function<void (*)(Work, void*, unsigned, unsigned)>("GOMP_parallel");
  agent::run_scheduled(openmp, work, data, [&](Work w, void* d) { next(w, d, threads, flags); });
}

TERRACE_EXPORT unsigned GOMP_parallel_reductions(Work work, void* data, unsigned threads, unsigned flags) {
  const agent::OpenMp openmp(reinterpret_cast<const void*>(work));
  const auto next = openmp.function<unsigned (*)(Work, void*, unsigned, unsigned)>("GOMP_parallel_reductions");
  return agent::run_scheduled(openmp, work, data, [&](Work w, void* d) { return next(w, d, threads, flags); });
}

TERRACE_EXPORT void GOMP_parallel_sections(Work work, void* data, unsigned threads, unsigned count,
                                           unsigned flags) {
  const agent::OpenMp openmp(reinterpret_cast<const void*>(work));
  const auto next = openmp.function<void (*)(Work, void*, unsigned, unsigned, unsigned)>("GOMP_parallel_sections");
  agent::run_scheduled(openmp, work, data, [&](Work w, void* d) { next(w, d, threads, count, flags); });
}

#define PARALLEL_LOOP(kind)                                                                                    \
  TERRACE_EXPORT void GOMP_parallel_loop_##kind(Work work, void* data, unsigned threads, long start, long end, \
                                                long step, long chunk, unsigned flags) {                       \
    const agent::OpenMp openmp(reinterpret_cast<const void*>(work));                                           \
    const auto next = openmp.function<void (*)(Work, void*, unsigned, long, long, long, long, unsigned)>(      \
        "GOMP_parallel_loop_" #kind);                                                                          \
    agent::run_scheduled(openmp, work, data,                                                                   \
                         [&](Work w, void* d) { next(w, d, threads, start, end, step, chunk, flags); });       \
  }
#define PARALLEL_LOOP_AS_SET(kind)                                                                             \
  TERRACE_EXPORT void GOMP_parallel_loop_##kind(Work work, void* data, unsigned threads, long start, long end, \
                                                long step, unsigned flags) {                                   \
    const agent::OpenMp openmp(reinterpret_cast<const void*>(work));                                           \
    const auto next = openmp.function<void (*)(Work, void*, unsigned, long, long, long, unsigned)>(            \
        "GOMP_parallel_loop_" #kind);                                                                          \
    agent::run_scheduled(openmp, work, data,                                                                   \
                         [&](Work w, void* d) { next(w, d, threads, start, end, step, flags); });              \
  }
PARALLEL_LOOP(static)
PARALLEL_LOOP(dynamic)
PARALLEL_LOOP(guided)
PARALLEL_LOOP(nonmonotonic_dynamic)
PARALLEL_LOOP(nonmonotonic_guided)
PARALLEL_LOOP_AS_SET(runtime)
PARALLEL_LOOP_AS_SET(nonmonotonic_runtime)
PARALLEL_LOOP_AS_SET(maybe_nonmonotonic_runtime)

// --- barriers, and constructs that end with one
// ---------------------------------------------------------------------------------------------------------

TERRACE_EXPORT void GOMP_barrier() {
  const auto openmp = agent::openmp_of(__builtin_return_address(0));
  const auto next = openmp.function<void (*)()>("GOMP_barrier");
  agent::in_team(openmp) ? agent::team_barrier() : next();
}

TERRACE_EXPORT void GOMP_loop_end() {
  const auto openmp = agent::openmp_of(__builtin_return_address(0));
  const auto next = openmp.function<void (*)()>("GOMP_loop_end");
  const auto without_barrier = openmp.function<void (*)()>("GOMP_loop_end_nowait");
  if (!agent::in_team(openmp)) return next();
  without_barrier();
  agent::team_barrier();
}

TERRACE_EXPORT void GOMP_sections_end() {
  const auto openmp = agent::openmp_of(__builtin_return_address(0));
  const auto next = openmp.function<void (*)()>("GOMP_sections_end");
  const auto without_barrier = openmp.function<void (*)()>("GOMP_sections_end_nowait");
  if (!agent::in_team(openmp)) return next();
  without_barrier();
  agent::team_barrier();
}

TERRACE_EXPORT void* GOMP_single_copy_start() {
  const auto openmp = agent::openmp_of(__builtin_return_address(0));
  const auto next = openmp.function<void* (*)()>("GOMP_single_copy_start");
  const auto single = openmp.function<bool (*)()>("GOMP_single_start");
  if (!agent::in_team(openmp)) return next();
  if (single()) return nullptr;
  agent::team_barrier();
  return agent::t_team->copied;
}

TERRACE_EXPORT void GOMP_single_copy_end(void* data) {
  const auto openmp = agent::openmp_of(__builtin_return_address(0));
  const auto next = openmp.function<void (*)(void*)>("GOMP_single_copy_end");
  if (!agent::in_team(openmp)) return next(data);
  agent::t_team->copied = data;
  agent::team_barrier();
}

// --- loops and sections with dynamic assignment
// ---------------------------------------------------------------------------------------------------------

#define LOOP_NEXT(kind)                                                                                      \
  TERRACE_EXPORT bool GOMP_loop_##kind##_next(long* from, long* to) {                                        \
    const auto openmp = agent::openmp_of(__builtin_return_address(0));                                       \
    const auto next = openmp.function<bool (*)(long*, long*)>("GOMP_loop_" #kind "_next");                   \
    if (agent::in_team(openmp)) agent::schedule_point();                                                     \
    return next(from, to);                                                                                   \
  }                                                                                                          \
  TERRACE_EXPORT bool GOMP_loop_ull_##kind##_next(unsigned long long* from, unsigned long long* to) {        \
    const auto openmp = agent::openmp_of(__builtin_return_address(0));                                       \
    const auto next =                                                                                        \
        openmp.function<bool (*)(unsigned long long*, unsigned long long*)>("GOMP_loop_ull_" #kind "_next"); \
    if (agent::in_team(openmp)) agent::schedule_point();                                                     \
    return next(from, to);                                                                                   \
  }
LOOP_NEXT(static)
LOOP_NEXT(dynamic)
LOOP_NEXT(guided)
LOOP_NEXT(runtime)
LOOP_NEXT(nonmonotonic_dynamic)
LOOP_NEXT(nonmonotonic_guided)
LOOP_NEXT(nonmonotonic_runtime)
LOOP_NEXT(maybe_nonmonotonic_runtime)

TERRACE_EXPORT unsigned GOMP_sections_next() {
  const auto openmp = agent::openmp_of(__builtin_return_address(0));
  const auto next = openmp.function<unsigned (*)()>("GOMP_sections_next");
  if (agent::in_team(openmp)) agent::schedule_point();
  return next();
}

// --- tasks
// ---------------------------------------------------------------------------------------------------------

TERRACE_EXPORT void GOMP_task(Work work, void* data, void (*copy)(void*, void*), long size, long alignment,
                              bool may_wait, unsigned flags, void** depend, int priority, void* detach) {
  const agent::OpenMp openmp(reinterpret_cast<const void*>(work));
  const auto next =
      openmp
          .function<void (*)(Work, void*, void (*)(void*, void*), long, long, bool, unsigned, void**, int, void*)>(
              "GOMP_task");
  agent::note_tasks();
  next(work, data, copy, size, alignment, may_wait && !agent::in_virtual_time(), flags, depend, priority, detach);
}

#define TASKLOOP(name, T)                                                                                 \
  TERRACE_EXPORT void name(Work work, void* data, void (*copy)(void*, void*), long size, long alignment,  \
                           unsigned flags, unsigned long tasks, int priority, T start, T end, T step) {   \
    const agent::OpenMp openmp(reinterpret_cast<const void*>(work));                                      \
    const auto next = openmp.function<void (*)(Work, void*, void (*)(void*, void*), long, long, unsigned, \
                                               unsigned long, int, T, T, T)>(#name);                      \
    agent::note_tasks();                                                                                  \
    if (agent::in_virtual_time()) flags &= ~agent::k_task_if;                                             \
    next(work, data, copy, size, alignment, flags, tasks, priority, start, end, step);                    \
  }
TASKLOOP(GOMP_taskloop, long)
TASKLOOP(GOMP_taskloop_ull, unsigned long long)

// --- constructs that wait inside the library
// ---------------------------------------------------------------------------------------------------------

TERRACE_EXPORT void GOMP_ordered_start() {
  const auto openmp = agent::openmp_of(__builtin_return_address(0));
  const auto next = openmp.function<void (*)()>("GOMP_ordered_start");
  const agent::ScopedBlockingCall blocking_call;
  next();
}

}  // extern "C"
