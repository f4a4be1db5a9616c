// What every thread has: whether it is inside Terrace now (then nothing it does is the program's), its pipeline,
// its shadow stack of calls. In initial-exec thread-local storage: one load away from every hook.
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
  std::uint32_t inside = 0;            // > 0: hooks and interposers pass through
  Pipeline* pipeline = nullptr;        // null: accesses are not followed (hooks off)
  Pipeline* listening = nullptr;       // the pipeline, while the thread is not inside: all that a hook looks at
  std::uint32_t depth = 0;             // of the shadow stack; may exceed what is kept
  std::uint32_t number = 0;            // in the order of creation
  bool watching = false;               // function entries are reported to the observer
  bool followed = false;               // its stack is known, its accesses have been followed
  bool is_scheduled = false;           // with other threads, in virtual time
  bool rests = false;                  // after its last turn: its time is sampled as Terrace's own
  TimeSamples* samples = nullptr;      // null: its time is not sampled
  LoopTree* loops = nullptr;           // of what it does; null: its loops are not followed
  std::uint32_t followed_depth = 0;    // calls from deeper ones are not, in the loops
  std::uint64_t loop_work_before = 0;  // work that others did before its own, as the loops have it
  struct Call {
    std::uint64_t function;
    std::uint64_t call_site;
    std::uint64_t stack_pointer;
  };
  Call* calls = nullptr;  // k_shadow_stack_depth of them, innermost last; null: calls are not followed

  // The fences keep the compiler from moving work out from in between: a signal handler that interrupts it must
  // find `inside` set.
  void go_inside() {
    ++inside;
    listening = nullptr;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void come_out() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (--inside == 0) listening = pipeline;
  }
  void set_pipeline(Pipeline* one) {
    pipeline = one;
    listening = inside == 0 ? one : nullptr;
  }
};

// Under gcc's null checks (-fsanitize=undefined) another model is chosen: they test the flags of an instruction of
// this one that the linker replaces.
#ifndef TERRACE_THREAD_MODEL
#define TERRACE_THREAD_MODEL "initial-exec"
#endif

// This thread's; constant-initialised, so that it can be used before constructors run and in signal handlers.
extern constinit thread_local Thread t_thread __attribute__((tls_model(TERRACE_THREAD_MODEL)));

// For the duration of a scope what this thread does is Terrace's own doing.
class Inside {
 public:
  Inside() { t_thread.go_inside(); }
  ~Inside() { t_thread.come_out(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

// Accesses of the program that came while their thread was inside Terrace (signal handlers, callbacks), in all
// threads: nobody followed them.
std::uint64_t unseen_accesses();
void count_unseen();

// Whether anyone listens to hooks of accesses, in any thread. Where nobody does, programs go on in the versions of
// their functions without hooks (cli/wrapper/unhooked_copies.hpp). Nobody does to begin with.
void set_listening(bool listening);

// Set while the scheduler of virtual time interleaves several threads of this process (agent/interpose/scheduling.cpp).
extern constinit std::atomic<bool> g_is_multithreaded;

// The number of the next thread: 0 for the first. The creator asks, so that numbers follow the program's order.
std::uint32_t next_thread_number();
// Called once by every thread that is to be followed, the main thread included: gives it its number and its shadow
// stack. Without memory for one the thread has none. Calling it again changes nothing.
Thread& enter_thread(std::uint32_t number);
Thread& enter_thread();  // with the next number
// Called by a thread that ends: gives the shadow stack back. The pipeline is its owner's to delete.
void leave_thread();

}  // namespace terrace::observe
