// SPDX-License-Identifier: Apache-2.0
// Interposes pthread_create(3). The creator assigns a thread's number. The thread's stack is registered and its
// accesses are traced from its first instruction on. In virtual time threads are scheduled (scheduling.hpp).
#include "agent/interpose/threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "agent/heap/object_registry.hpp"
#include "agent/interpose/mpi_threads.hpp"
#include "agent/interpose/scheduling.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/last_thread.hpp"
#include "agent/linking/next.hpp"
#include "observe/objects/spin_lock.hpp"
#include "observe/pipeline/loop_events.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

namespace {

using ThreadFunction = void* (*)(void*);

struct ThreadStart {
  ThreadFunction function;
  void* argument;
  std::uint32_t number;
  bool is_scheduled;
  bool is_worker;  // of another library's pool
  bool is_of_mpi;  // an internal thread of an MPI implementation
};

struct StackRange {
  std::uint64_t low = 0, high = 0;
};

constinit thread_local bool t_makes_workers = false;

// Maps handles of the C library to thread numbers, for pthread_join(3).
struct KnownThread {
  pthread_t thread;
  std::uint32_t number;
};
constinit observe::SpinLock g_known_lock;
// Never destroyed: threads may outlive static data.
std::vector<KnownThread>& known_threads() {
  static auto& known = *new std::vector<KnownThread>;
  return known;
}

// CPU affinity at the program's start. Terrace's threads use it, because they are created by any of the program's
// threads, which may be bound to a core.
struct SavedAffinity {
  cpu_set_t set{};
  bool known = false;
};
constinit SavedAffinity g_saved_affinity;

void remember_thread(pthread_t thread, std::uint32_t number) {
  const observe::RuntimeScope inside;
  const std::lock_guard lock(g_known_lock);
  known_threads().push_back({thread, number});
}

// Returns the calling thread's stack. Requires: inside Terrace, because the C library allocates.
StackRange find_stack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* low = nullptr;
  std::size_t size = 0;
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  const auto from = reinterpret_cast<std::uint64_t>(low);
  return {from, from + size};
}

// Runs at the end of a thread: return, pthread_exit(3) or cancellation.
void end_thread(void*) {
  const observe::RuntimeScope inside;
  if (auto* const here = process()) {
    const auto stack = find_stack();
    here->objects->remove(stack.low, stack.high);
    observe::end_thread_loops();
    detach_thread();
    if (here->scheduler) leave_schedule();
  }
  observe::unregister_thread();
}

// Returns the key whose destructor runs end_thread() in each thread that sets it.
pthread_key_t end_key_of_threads() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, end_thread);
    return made;
  }();
  return key;
}

// Runs a new thread of the program: registers it, waits for its turn in virtual time, and calls its function.
void* run(void* data) {
  const auto start = *static_cast<ThreadStart*>(data);
  {
    const observe::RuntimeScope inside;
    delete static_cast<ThreadStart*>(data);
    if (process()) {
      observe::register_thread(start.number);
      pthread_setspecific(end_key_of_threads(), &observe::t_thread);
      if (start.is_scheduled) enter_schedule(start.number);
    }
  }
  if (start.is_of_mpi) note_mpi_thread();
  if (start.is_scheduled || !in_virtual_time()) attach_this_thread();
  if (!start.is_worker) observe::begin_thread_loops();
  return start.function(start.argument);
}

}  // namespace

void save_affinity() noexcept {
  g_saved_affinity.known =
      pthread_getaffinity_np(pthread_self(), sizeof g_saved_affinity.set, &g_saved_affinity.set) == 0;
}

void attach_this_thread() noexcept {
  const observe::RuntimeScope inside;
  auto* const here = process();
  if (!here || observe::t_thread.was_traced) return;
  observe::t_thread.was_traced = true;
  const auto stack = find_stack();
  if (stack.high > stack.low) note_thread_stack(*here, stack.low, stack.high);
  attach_thread();
}

ScopedWorkerCreation::ScopedWorkerCreation() noexcept : before_(t_makes_workers) { t_makes_workers = true; }
ScopedWorkerCreation::~ScopedWorkerCreation() { t_makes_workers = before_; }
ScopedProgramCode::ScopedProgramCode() noexcept : before_(t_makes_workers) { t_makes_workers = false; }
ScopedProgramCode::~ScopedProgramCode() { t_makes_workers = before_; }

bool find_thread_number(pthread_t thread, std::uint32_t& number) noexcept {
  const observe::RuntimeScope inside;
  const std::lock_guard lock(g_known_lock);
  const auto& known = known_threads();
  const auto at = std::find_if(known.begin(), known.end(),
                               [&](const KnownThread& one) { return pthread_equal(one.thread, thread) != 0; });
  if (at == known.end()) return false;
  number = at->number;
  return true;
}

void forget_joined_thread(pthread_t thread) noexcept {
  const observe::RuntimeScope inside;
  const std::lock_guard lock(g_known_lock);
  std::erase_if(known_threads(), [&](const KnownThread& one) { return pthread_equal(one.thread, thread) != 0; });
}

}  // namespace terrace::agent

extern "C" TERRACE_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                             void* (*function)(void*), void* argument) noexcept {
  namespace agent = terrace::agent;
  static constinit agent::NextFunction<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)> next{
      "pthread_create"};
  if (!agent::ensure_started()) return (*next)(thread, attributes, function, argument);
  if (terrace::observe::t_thread.inside > 0) {  // one of Terrace's own threads
    agent::note_own_thread();
    const int error = (*next)(thread, attributes, function, argument);
    if (error == 0 && agent::g_saved_affinity.known)
      pthread_setaffinity_np(*thread, sizeof agent::g_saved_affinity.set, &agent::g_saved_affinity.set);
    return error;
  }
  // Workers of other libraries are scheduled while they work, by the wrappers of their library.
  const bool is_of_mpi = agent::in_virtual_time() && !agent::t_makes_workers && agent::is_in_mpi();
  const bool is_worker = agent::t_makes_workers || is_of_mpi;
  const bool is_scheduled = agent::in_virtual_time() && !is_worker;
  agent::ThreadStart* start = nullptr;
  const auto number = terrace::observe::next_thread_number();
  {
    const terrace::observe::RuntimeScope inside;
    start = new (std::nothrow) agent::ThreadStart{function, argument, number, is_scheduled, is_worker, is_of_mpi};
  }
  if (!start) return (*next)(thread, attributes, function, argument);
  if (is_scheduled) agent::register_thread(number);
  const int error = (*next)(thread, attributes, agent::run, start);
  if (error != 0) {
    delete start;
    if (is_scheduled) agent::cancel_thread_start(number);
  } else if (is_scheduled) {
    agent::remember_thread(*thread, number);
  }
  return error;
}
