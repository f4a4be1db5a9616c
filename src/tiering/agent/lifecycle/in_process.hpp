// SPDX-License-Identifier: Apache-2.0
// Declares what the interposed functions, APIs and adapters share inside a process: access to the heaps, start-up
// and end of the process, and facts about its memory. Functions are thread-safe unless stated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/lifecycle/initial_stack.hpp"
#include "agent/lifecycle/process.hpp"
#include "agent/linking/injected_library.hpp"

namespace terrace::agent {

// Returns the address space of large blocks, or null. Remains after Terrace has become inactive, to free blocks.
inline memory::RegionSpace* regions() noexcept { return g_pointers.regions.load(std::memory_order_acquire); }
// Returns the spilled heap if it exists. Remains, too.
inline SpilledHeap* spilled_heap() noexcept { return g_pointers.spilled.load(std::memory_order_acquire); }
// Returns the spilled heap; the first call makes it. Null if the run has none, or the system lacks support.
SpilledHeap* start_spilled_heap(const Process& here) noexcept;
// Applies the plan's preference, if any, to a new spilled block or mapping, named by its call site.
void apply_plan_preference(Process& here, SpilledHeap& heap, const void* block) noexcept;
// Returns the allocator of small spilled blocks if it exists. Remains, too.
inline SpilledSmall* spilled_small() noexcept { return g_pointers.small.load(std::memory_order_acquire); }
// Allocates a spilled block smaller than SpilledHeap::k_min. Returns null if the caller is to use the next
// allocator: the process is still small, or the caller is the C library. The C library uses its memory where
// waiting for a file is impossible (in a child of fork before any handler) and in every thread (locales).
// Preserves errno.
void* allocate_small_spilled(std::size_t size, std::size_t alignment, bool zeros, const void* caller) noexcept;
// Records the address ranges of the C library and the dynamic linker. Requires: single-threaded.
void find_c_library() noexcept;
// For fork(2): block the creation of the spilled heap.
void lock_spilled_start() noexcept;
void unlock_spilled_start() noexcept;
// Returns the heap for memory by intent, or null. Remains, also in forked children, and works there.
inline OrderedHeap* ordered_heap() noexcept { return g_pointers.ordered.load(std::memory_order_acquire); }
// The calling thread's own intent (OrderedHeap::find_intent), or -1.
int& thread_intent() noexcept;

// Starts Terrace in the program's main thread, or defers the start (late_start.hpp). `words` are the program's
// `count` arguments, followed by the environment. `stack_top` is the upper end of the program's stack.
void begin_process(int count, char** words, std::uint64_t stack_top) noexcept;
// Returns process() after a deferred start, which it executes (late_start.hpp). Preserves errno.
Process* ensure_started() noexcept;
// Returns process(). Executes a deferred start if a block or mapping of `size` bytes is large enough for one.
Process* ensure_started_for(std::size_t size) noexcept;
// Ends the run of this process, which exits or becomes another program (exec). No effect in a child of vfork(2),
// which shares its parent's memory.
void finish_process(const char* how) noexcept;

// Makes Terrace inactive because the program is about to confine itself: by a system call filter, or ("limited")
// by a limit of its address space.
void confine(const char* how = "confined") noexcept;

// Returns false in a child of vfork(2) or of a bare clone system call, where the library's state is the parent's.
bool is_own_process() noexcept;

// --- implemented in interpose/threads.cpp ------------------------------------------------------------------

// Saves the CPU affinity that the program starts with, for Terrace's own threads. Called once, in the main thread,
// before the program runs.
void save_affinity() noexcept;

// -----------------------------------------------------------------------------------------------------------

// Saves the variables that a child's environment needs to run under Terrace.
void save_environment(char** environment) noexcept;
// Returns the saved variables as an environment.
char** saved_environment() noexcept;

// A mapping of the address space (a line of /proc/self/maps).
struct MemoryMapping {
  std::uint64_t low = 0, high = 0;
  bool heap = false;   // the heap of brk(2)
  bool stack = false;  // the main thread's stack
};
// Finds the mapping that contains the address. Returns false if there is none. Does not allocate.
bool find_mapping(std::uint64_t address, MemoryMapping& mapping) noexcept;

// Registers the used part of the main thread's stack below `top` as the object "(stack)". `above`: the pieces
// that the kernel has put above it.
void note_main_stack(Process& process, std::uint64_t top, std::vector<StackPiece> above) noexcept;
// Registers the upper part of another thread's stack.
void note_thread_stack(Process& process, std::uint64_t low, std::uint64_t high) noexcept;
// Registers the present heap of the next allocator as "(small blocks)".
void note_small_blocks(Process& process) noexcept;

}  // namespace terrace::agent
