// SPDX-License-Identifier: Apache-2.0
// Holds the thread-local state of the runtime: whether the thread runs the runtime's own code, its pipeline, its
// shadow stack of calls. Used throughout the runtime in the program. It is in initial-exec thread-local storage,
// so that a hook reaches it by one load.
//
// A thread is "inside" while it runs code of the runtime: its accesses and calls are then not the program's, and
// hooks and interposers forward to the original functions. Scopes nest.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace terrace::observe {

class LoopTree;
class Pipeline;
class TimeSamples;

inline constexpr std::uint32_t k_shadow_stack_depth = 4096;

struct Thread {
  std::uint32_t inside = 0;             // nested scopes of the runtime; > 0: hooks do nothing, interposers forward
  Pipeline* pipeline = nullptr;         // non-owning; null: accesses are not traced
  Pipeline* active_pipeline = nullptr;  // `pipeline` while not inside, else null: all that a hook reads
  std::uint32_t depth = 0;              // of the shadow stack; may exceed k_shadow_stack_depth
  std::uint32_t number = 0;             // in the order of creation
  bool reports_entries = false;         // function entries are reported to the observer
  bool was_traced = false;              // its stack is registered, its accesses have been traced
  bool is_scheduled = false;            // by the scheduler of virtual time
  bool is_parked = false;               // its last quantum is over: its time samples count as the runtime's
  TimeSamples* samples = nullptr;       // null: its time is not sampled
  LoopTree* loop_tree = nullptr;        // non-owning; null: its loops are not followed
  std::uint32_t followed_depth = 0;     // of the loop tree: events of deeper calls are not reported
  std::uint64_t loop_work_offset = 0;   // work in the loop tree less the thread's own work
  struct Call {
    std::uint64_t function;
    std::uint64_t call_site;
    std::uint64_t stack_pointer;
  };
  Call* calls = nullptr;  // the shadow stack, k_shadow_stack_depth entries, innermost last; null: there is none

  // The fences keep the compiler from moving work out of the scope: a signal handler that interrupts it must find
  // `inside` set.
  void enter_runtime() {
    ++inside;
    active_pipeline = nullptr;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void leave_runtime() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (--inside == 0) active_pipeline = pipeline;
  }
  void set_pipeline(Pipeline* new_pipeline) {
    pipeline = new_pipeline;
    active_pipeline = inside == 0 ? new_pipeline : nullptr;
  }
};

// The build chooses another model under gcc's null checks (-fsanitize=undefined): these test the flags of an
// instruction of the initial-exec model that the linker replaces.
#ifndef TERRACE_THREAD_MODEL
#define TERRACE_THREAD_MODEL "initial-exec"
#endif

// The calling thread's state. Constant-initialised, so that it can be used before constructors run and in signal
// handlers.
extern constinit thread_local Thread t_thread __attribute__((tls_model(TERRACE_THREAD_MODEL)));

// Marks the calling thread as inside the runtime for the duration of a scope.
class RuntimeScope {
 public:
  RuntimeScope() { t_thread.enter_runtime(); }
  ~RuntimeScope() { t_thread.leave_runtime(); }
  RuntimeScope(const RuntimeScope&) = delete;
  RuntimeScope& operator=(const RuntimeScope&) = delete;
};

// Returns the number of the program's accesses, over all threads, that were not traced because their thread was
// inside the runtime (signal handlers, callbacks).
std::uint64_t untraced_accesses();
void count_untraced();

// Sets whether the hooks of accesses are used in any thread; initially they are not. While they are not, programs
// run the copies of their functions without hooks (cli/wrapper/unhooked_copies.hpp).
void set_tracing_enabled(bool enabled);

// Set while the scheduler of virtual time interleaves several threads of this process
// (agent/interpose/scheduling.cpp).
extern constinit std::atomic<bool> g_is_multithreaded;

// Returns the number of the next thread, 0 for the first. The creating thread calls it, so that numbers follow the
// program's order.
std::uint32_t next_thread_number();
// Registers the calling thread, the main thread included: sets its number and allocates its shadow stack. Without
// memory the thread has no shadow stack. Has no effect on a registered thread.
Thread& register_thread(std::uint32_t number);
Thread& register_thread();  // with the next number
// Frees the calling thread's shadow stack, at its end. Does not delete the pipeline, which the thread does not
// own.
void unregister_thread();

}  // namespace terrace::observe
