// SPDX-License-Identifier: Apache-2.0
// Implements the life cycle of the process: start (__libc_start_main), fork handlers, exit.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <utility>
#include <vector>

#include "agent/heap/internal_heap.hpp"
#include "agent/heap/libc_arena.hpp"
#include "agent/heap/object_registry.hpp"
#include "agent/heap/ordered_heap.hpp"
#include "agent/heap/spilled_heap.hpp"
#include "agent/heap/spilled_small.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/last_thread.hpp"
#include "agent/lifecycle/late_start.hpp"
#include "agent/lifecycle/later_files.hpp"
#include "agent/lifecycle/modules.hpp"
#include "agent/lifecycle/standard_stream_guard.hpp"
#include "agent/linking/absent_functions.hpp"
#include "agent/linking/next.hpp"
#include "core/errno_scope.hpp"
#include "core/rounding.hpp"
#include "memory/arenas/block_arena.hpp"
#include "memory/region_space.hpp"
#include "observe/threads/thread.hpp"
#include "runtime/runtime.hpp"
#include "runtime/session/session.hpp"
#include "sim/scheduler/scheduler.hpp"
#include "transfer/exchange/exchange_lock.hpp"

// glibc's interface to its list of streams.
extern "C" {
__attribute__((weak)) void _IO_list_lock();
__attribute__((weak)) void _IO_list_unlock();
__attribute__((weak)) void* _IO_iter_begin();
__attribute__((weak)) void* _IO_iter_end();
__attribute__((weak)) void* _IO_iter_next(void* at);
__attribute__((weak)) FILE* _IO_iter_file(void* at);
}

extern "C" __attribute__((visibility("hidden"))) void* __dso_handle;  // of this library; provided by the compiler

namespace terrace::agent {

constinit ProcessPointers g_pointers;

namespace {

constinit std::uint64_t g_top_of_stack = 0;
constinit std::atomic<pid_t> g_pid{0};  // owner of this state: a child of vfork(2) shares its parent's memory

const char* environment_value(char** environment, const char* name) {
  const auto length = strlen(name);
  for (char** at = environment; at && *at; ++at)
    if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') return *at + length + 1;
  return nullptr;
}

// Publishes the state that start() has made, or null, to all interposed functions.
void adopt(Process* made) {
  if (made) {
    made->objects = new ObjectRegistry(*made->runtime, is_first_allocator() ? made->begin_monitoring : nullptr);
    g_pointers.regions.store(made->regions);
    g_pointers.ordered.store(made->ordered);
    g_pointers.places_small_blocks.store(made->ordered || made->make_spilled);
  }
  g_pid.store(getpid());
  g_pointers.process.store(made, std::memory_order_release);
}

constexpr std::uint64_t k_near = 64 << 10;

// Collects the spilled chunks that the C library accesses in a forked child before any handler: the stack, and
// each stream with its lock.
std::size_t chunks_needed_at_fork(const SpilledHeap& heap,
                                  std::array<std::uint64_t, SpilledHeap::k_at_once>& addresses) noexcept {
  std::size_t count = 0;
  const auto add = [&](std::uint64_t address) {
    const auto chunk = align_down(address, SpilledHeap::k_granule);
    const auto end = addresses.begin() + static_cast<std::ptrdiff_t>(count);
    if (count < addresses.size() && std::find(addresses.begin(), end, chunk) == end &&
        heap.contains(reinterpret_cast<const void*>(chunk)))  // NOLINT(performance-no-int-to-ptr)
      addresses[count++] = chunk;
  };
  const auto stack = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  const auto own =
      reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());  // at the top of the thread's stack
  for (const auto address : {stack - k_near, stack, stack + k_near, own - k_near, own}) add(address);
  if (!_IO_list_lock || !_IO_list_unlock || !_IO_iter_begin || !_IO_iter_end || !_IO_iter_next || !_IO_iter_file)
    return count;
  _IO_list_lock();
  for (void* at = _IO_iter_begin(); at != _IO_iter_end(); at = _IO_iter_next(at)) {
    const auto* const stream = _IO_iter_file(at);
    add(reinterpret_cast<std::uint64_t>(stream));
    add(reinterpret_cast<std::uint64_t>(stream->_lock));
  }
  _IO_list_unlock();
  return count;
}

// Signal mask of the forking thread before the fork.
sigset_t& signals_before() noexcept {
  static constinit thread_local sigset_t mask __attribute__((tls_model("initial-exec"))){};
  return mask;
}

// Takes all locks whose data the child needs, so that it is copied in a consistent state. Blocks signals: a
// handler that touches spilled data would wait until the process has been copied.
void before_fork() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &signals_before());
  observe::t_thread.enter_runtime();
  lock_spilled_start();
  lock_modules();
  memory::BlockArena::lock();
  if (const auto* const small = spilled_small()) small->lock();
  if (auto* const here = process()) {
    here->objects->lock();
    here->regions->lock();
    // Before the internal heap's lock: the engine's thread may allocate until it pauses.
    if (auto* const spilled = spilled_heap()) {
      std::array<std::uint64_t, SpilledHeap::k_at_once> addresses;
      spilled->before_fork({addresses.data(), chunks_needed_at_fork(*spilled, addresses)});
    }
  }
  if (const auto* const ordered = ordered_heap()) ordered->lock();
  internal_heap().lock();
  // Last: threads that release memory wait for it while they hold one of the locks above.
  transfer::suspend_exchanges();
}

// Releases the locks that before_fork() has taken, in reverse order.
void release_after_fork(void (SpilledHeap::*release_spilled)() noexcept) {
  internal_heap().unlock();
  if (const auto* const ordered = ordered_heap()) ordered->unlock();
  if (auto* const here = process()) {
    if (auto* const spilled = spilled_heap()) (spilled->*release_spilled)();
    here->regions->unlock();
    here->objects->unlock();
  }
  if (const auto* const small = spilled_small()) small->unlock();
  memory::BlockArena::unlock();
  unlock_modules();
  unlock_spilled_start();
}

void in_parent() {
  transfer::resume_exchanges();
  release_after_fork(&SpilledHeap::after_fork);
  observe::t_thread.leave_runtime();
  pthread_sigmask(SIG_SETMASK, &signals_before(), nullptr);
}

// Fork handler in the child, where Terrace becomes inactive but its heaps still free blocks.
void in_child() {
  transfer::reset_exchanges_in_child();
  release_after_fork(&SpilledHeap::in_child);
  g_pointers.is_start_deferred.store(
      false);  // Terrace stays inactive in a child, even if the parent's start is deferred
  if (auto* const ordered = ordered_heap()) ordered->in_child();  // uses the internal heap
  if (process()) {
    Process* const made = after_fork();
    if (made && made != process()) {
      adopt(made);
    } else {
      g_pid.store(getpid());
      if (!made) {
        g_pointers.process.store(nullptr);
        observe::t_thread.set_pipeline(nullptr);
      }
    }
  }
  observe::t_thread.leave_runtime();
  pthread_sigmask(SIG_SETMASK, &signals_before(), nullptr);
}

using RegisterAtFork = int (*)(void (*)(), void (*)(), void (*)(), void*);

// Registers Terrace's fork handlers before all others, so that they run last before the fork and first after it:
// the handlers of the program and its libraries can access all data. Returns the C library's registration
// function, or null if it has none.
RegisterAtFork register_ours_first() noexcept {
  static constinit NextFunction<RegisterAtFork> next{"__register_atfork"};
  const auto found = *next;
  if (!found) return nullptr;
  [[maybe_unused]] static const int done = found(before_fork, in_parent, in_child, &__dso_handle);
  return found;
}

void finish_quickly() { finish_process("quick"); }

// Leaves a mark for the launcher, which otherwise reports that the library was not loaded.
void note_unmanaged(char** environment) {
  const char* const session = environment_value(environment, runtime::k_session_variable);
  const char* const name = session ? strrchr(session, '/') : nullptr;
  if (!name) return;
  char path[4096];
  const auto length = snprintf(path, sizeof path, "%.*s/%s%d", static_cast<int>(name - session), session,
                               runtime::k_unmanaged, static_cast<int>(getpid()));
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof path) return;
  const auto file = syscall(SYS_open, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file >= 0) syscall(SYS_close, file);
}

// Smallest block that executes a deferred start, and that is an object in runs where nothing was requested.
constinit std::size_t g_min_start_size = k_large;

// Starts Terrace: makes the process state, and registers what is in memory already.
void begin_now(char** environment, bool is_requested, std::uint64_t stack_top, std::vector<StackPiece> above) {
  const StandardStreamGuard taken;
  Process* const made = start(environment);
  if (!made) return note_unmanaged(environment);
  if (!made->simulated) {
    g_libc_arena.enable();
    bind_own_thread_functions();
  }
  if (made->make_spilled) find_c_library();
  if (!is_requested) {
    made->big_block = std::max<std::uint64_t>(made->big_block, g_min_start_size);
    made->largest_big_block = k_always_mapped;
  }
  adopt(made);
  note_main_stack(*made, stack_top, std::move(above));
  note_modules(*made);
  note_small_blocks(*made);
  register_ours_first();
  at_quick_exit(finish_quickly);
  if (!made->simulated) note_main_thread();
  attach_thread();
  if (is_first_allocator()) return;
  start_spilled_heap(*made);
  if (made->begin_monitoring) made->begin_monitoring();
}

// Runs after the program's own exit handlers and destructors.
__attribute__((destructor)) void finish_at_exit() { finish_process("exit"); }

}  // namespace

int& thread_intent() noexcept {
  static constinit thread_local int intent __attribute__((tls_model("initial-exec"))) = -1;
  return intent;
}

void begin_process(int count, char** words, std::uint64_t stack_top) noexcept {
  const observe::RuntimeScope inside;
  char** const environment = words + count + 1;
  const char* const mode = environment_value(environment, "TERRACE");
  if (mode && strcmp(mode, "off") == 0) return;
  const char* const session = environment_value(environment, "TERRACE_SESSION");
  if (!session || !*session || process()) return;
  next_allocator();
  save_environment(environment);
  clear_absent_functions();
  begin_later_files();
  if (has_memory_checker()) return;
  observe::register_thread();
  save_affinity();
  const auto decision = decide_start(session);
  if (!decision.is_enabled) return;
  if (decision.needs_hooks) reexec_with_hooks(words, environment);
  if (!decision.has_choice) g_min_start_size = SIZE_MAX;
  if (!decision.is_requested && !decision.has_large_data && (is_first_allocator() || !decision.has_choice)) {
    g_top_of_stack = stack_top;
    g_pid.store(getpid());
    register_ours_first();
    g_libc_arena.enable();
    g_pointers.is_start_deferred.store(true);
    return;
  }
  std::vector<StackPiece> above;
  try {
    above = lay_out_stack(count, words);
  } catch (const std::exception&) {  // no memory: virtual time then depends on the position of the arguments
  }
  begin_now(environment, decision.is_requested, stack_top, std::move(above));
}

Process* ensure_started() noexcept {
  auto* const here = process();
  if (here || !g_pointers.is_start_deferred.load(std::memory_order_relaxed)) return here;
  if (!is_own_process() || observe::t_thread.inside > 0) return nullptr;
  // The start happens at the latest at the first pthread_create(3). Another thread here was made by a bare system
  // call.
  if (!g_pointers.is_start_deferred.exchange(false) || syscall(SYS_gettid) != g_pid.load()) return process();
  const observe::RuntimeScope inside;
  const ErrnoScope errno_scope;
  begin_now(saved_environment(), false, g_top_of_stack, {});
  return process();
}

Process* ensure_started_for(std::size_t size) noexcept {
  auto* const here = process();
  if (here || !g_pointers.is_start_deferred.load(std::memory_order_relaxed)) return here;
  return size >= g_min_start_size ? ensure_started() : nullptr;
}

bool is_own_process() noexcept { return g_pid.load() == getpid(); }

void finish_process(const char* how) noexcept {
  if (!process() || !is_own_process()) return;
  // Called from a signal handler that interrupted Terrace: would deadlock on locks of this thread. The journal is
  // complete as it is.
  if (observe::t_thread.inside > 0) return;
  const observe::RuntimeScope inside;
  Process* const here = g_pointers.process.exchange(nullptr);
  if (!here) return;  // another thread has finished it
  detach_thread();
  // Waiting threads continue to wait in the C library, where they are woken from now on.
  if (here->scheduler) here->scheduler->stop();
  note_modules(*here);  // for samples in recently loaded modules
  finish_loops(*here);
  finish_mpi(*here);
  if (here->end_monitoring) here->end_monitoring();
  if (here->end_spilled) here->end_spilled();
  here->runtime->finish(how);
}

namespace {

using MainFunction = int (*)(int, char**, char**);
using StartMain = int (*)(MainFunction, int, char**, void (*)(), void (*)(), void (*)(), void*);

// Starts Terrace, and then calls the C library's __libc_start_main, which runs the program.
__attribute__((noinline)) int start_and_run(StartMain next, MainFunction main, int count, char** words,
                                            void (*init)(), void (*fini)(), void (*rtld_fini)(), void* stack_end,
                                            std::uint64_t top) {
  begin_process(count, words, top);
  const int status = next(main, count, words, init, fini, rtld_fini, stack_end);
  asm volatile("" ::: "memory");  // prevents a tail call: the frame must exist in every run
  return status;
}

}  // namespace

}  // namespace terrace::agent

// Starts Terrace before the C library calls the program's constructors and main(). First moves the stack down to
// a page boundary, so that stack addresses have the same low bits in every run, independent of the environment's
// length.
extern "C" TERRACE_EXPORT int __libc_start_main(int (*main)(int, char**, char**), int count, char** words,
                                                void (*init)(), void (*fini)(), void (*rtld_fini)(),
                                                void* stack_end) {
  using namespace terrace::agent;
  // Programs built before glibc 2.34 pass constructors, for the older symbol version.
  static constexpr const char* k_name = "__libc_start_main";
  const auto next =
      reinterpret_cast<StartMain>(init ? find_next_version(k_name, "GLIBC_2.2.5") : find_next(k_name));
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  const auto skip = (here & 4095) + 4096;
  auto* const space = static_cast<volatile char*>(__builtin_alloca(skip));
  space[0] = 0;
  return start_and_run(next, main, count, words, init, fini, rtld_fini, stack_end,
                       (here - skip) & ~std::uint64_t{4095});
}

// Interposes the registration of fork handlers: pthread_atfork() is linked statically into programs and
// libraries, and calls this function. Constructors of libraries run before begin_process().
extern "C" TERRACE_EXPORT int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                                                void* library) noexcept {
  const auto next = terrace::agent::register_ours_first();
  return next ? next(prepare, parent, child, library) : ENOMEM;
}
