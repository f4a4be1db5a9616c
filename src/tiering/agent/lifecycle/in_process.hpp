// What the front doors inside a program share and nobody else needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/lifecycle/initial_stack.hpp"
#include "agent/lifecycle/process.hpp"
#include "agent/linking/injected_library.hpp"

namespace terrace::agent {

// Where big blocks come from; stays when the process has become inert, because they are still to be freed.
inline memory::RegionSpace* regions() noexcept { return g_pointers.regions.load(std::memory_order_acquire); }
// Memory over a file, where there is some already; stays, too.
inline SpilledHeap* spilled_heap() noexcept { return g_pointers.spilled.load(std::memory_order_acquire); }
// The same; it begins with the first call. Null where there is to be none.
SpilledHeap* start_spilled_heap(const Process& here) noexcept;
// What a plan says of a new block or mapping in it, which the calling code names.
void apply_plan_preference(Process& here, SpilledHeap& heap, const void* block) noexcept;
// Small blocks over a file, where there are some already; stays, too.
inline SpilledSmall* spilled_small() noexcept { return g_pointers.small.load(std::memory_order_acquire); }
// A block below SpilledHeap::k_min for them; null: the caller asks the next allocator. They begin once the
// process is large enough. What the C library asks for itself is none of them: it uses that in places where nobody
// may wait for a file, as in a child of fork before any handler, and in every thread, as its locales. Leaves errno
// alone.
void* allocate_small_spilled(std::size_t size, std::size_t alignment, bool zeros, const void* caller) noexcept;
// Of one of them.
void release_small_spilled(void* block) noexcept;
// At the start, while there is one thread.
void find_c_library() noexcept;
// Around fork: it is not in the middle of beginning.
void lock_spilled_start() noexcept;
void unlock_spilled_start() noexcept;
// Memory that is placed by intent, where there is some; stays in forked children, too, and serves there.
inline OrderedHeap* ordered_heap() noexcept { return g_pointers.ordered.load(std::memory_order_acquire); }
// The calling thread's own intent (OrderedHeap::find_intent), or -1.
int& thread_intent() noexcept;

// Begins, in the program's main thread: the session is read and everything is set up. `words` are the program's
// `count` arguments, with the environment behind them; `stack_top` is where the stack of what the program will run
// begins; it grows down from there.
void begin_process(int count, char** words, std::uint64_t stack_top) noexcept;
// This process's, which begins now where it waited for something that could be placed (late_start.hpp). errno
// stays.
Process* ensure_started() noexcept;
// The same for a block or mapping of so many bytes, if it is worth it.
Process* ensure_started_for(std::size_t size) noexcept;
// The process ends or becomes another program. Does nothing in a child of vfork, which is still its parent.
void finish_process(const char* how) noexcept;

// The program is about to confine itself, by a filter of system calls or ("limited") a limit to its address space:
// this process is left alone from here on.
void confine(const char* how = "confined") noexcept;

// False in a child of vfork or of a bare system call, where what this library knows is its parent's.
bool is_own_process() noexcept;

// --- implemented in interpose/threads.cpp ------------------------------------------------------------------

// Saves the CPU affinity that the program starts with, for Terrace's own threads. Called once, in the main thread,
// before the program runs.
void save_affinity() noexcept;

// -----------------------------------------------------------------------------------------------------------

// Remembers what a child's environment must have, so that it is under Terrace, too.
void save_environment(char** environment) noexcept;
// What was kept, as an environment.
char** saved_environment() noexcept;

// The system's view of a part of the address space (a line of /proc/self/maps).
struct Mapping {
  std::uint64_t low = 0, high = 0;
  bool heap = false;   // what brk() manages
  bool stack = false;  // the main thread's
};
// False when nothing is mapped there. Allocates nothing.
bool find_mapping(std::uint64_t address, Mapping& mapping) noexcept;

// The main thread's stack below `top` is the object "(stack)", as far down as it is used; above is what the
// system has put there.
void note_main_stack(Process& process, std::uint64_t top, std::vector<StackPiece> above) noexcept;
void note_thread_stack(Process& process, std::uint64_t low, std::uint64_t high) noexcept;
// The blocks of the next allocator, as far as they exist.
void note_small_blocks(Process& process) noexcept;

}  // namespace terrace::agent
