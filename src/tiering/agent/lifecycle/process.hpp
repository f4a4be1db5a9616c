// SPDX-License-Identifier: Apache-2.0
// Defines Process, the state of a process that runs under Terrace, and the life-cycle hooks that start.cpp
// implements: start, new thread, fork. The interposed functions and adapters use this header; they do not know
// start.cpp.
//
// Without a session there is no Process: allocation passes through and annotations have no effect.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace terrace::observe {
class AddressMap;
class CodeMap;
class SymbolTable;
}  // namespace terrace::observe
namespace terrace {
class Clock;
}
namespace terrace::memory {
class RegionSpace;
}
namespace terrace::runtime {
class Runtime;
}
namespace terrace::sim {
class ThreadClocks;
class Scheduler;
}  // namespace terrace::sim
namespace terrace::transfer {
enum class Preference : std::uint8_t;
}

namespace terrace::agent {

class ObjectRegistry;

class OrderedHeap;
class MainLoopDetector;
class MpiMonitor;
class MpiObjectPlacer;
class ProgramWork;
class SharedMappingListener;
class SpilledHeap;
class SpilledSmall;

struct Process {
  runtime::Runtime* runtime = nullptr;
  observe::AddressMap* map = nullptr;  // null: accesses are not traced
  memory::RegionSpace* regions = nullptr;
  observe::SymbolTable* symbols = nullptr;
  ProgramWork* work = nullptr;                       // null: accesses are not traced
  Clock* clock = nullptr;                            // the program's
  ObjectRegistry* objects = nullptr;                 // made by startup.cpp after start()
  sim::Scheduler* scheduler = nullptr;               // null on real memory, where the system schedules threads
  sim::ThreadClocks* thread_clocks = nullptr;        // of all configurations
  observe::CodeMap* code = nullptr;                  // null: the program's time is not sampled
  OrderedHeap* ordered = nullptr;                    // null: no placement by intent
  MainLoopDetector* loops = nullptr;                 // null: the main loop is not searched
  MpiMonitor* mpi = nullptr;                         // null: MPI calls are not evaluated
  MpiObjectPlacer* mpi_objects = nullptr;            // null: the memory of MPI libraries is not observed
  SharedMappingListener* shared_mappings = nullptr;  // null: no interest in shared memory
  SpilledHeap* (*make_spilled)() = nullptr;          // null: no spilled memory; called at most once
  transfer::Preference (*preference_of)(std::string_view object) noexcept =
      nullptr;                                   // null: no plan has preferences
  std::uint64_t spilled_memory = 0;              // limit of resident spilled memory, bytes
  void (*begin_monitoring)() = nullptr;          // null: not monitored; called once, at the first large data
  void (*end_monitoring)() = nullptr;            // null: not monitored; called at process exit
  void (*end_spilled)() = nullptr;               // null: no spilled memory; called at process exit
  void (*confined_over_file)() = nullptr;        // warns about the consequences for spilled memory
  bool simulated = false;                        // clocks of the program show virtual time
  bool is_learning = false;                      // a strategy learns from the program's accesses
  bool has_hooks = false;                        // some loaded code calls instrumentation hooks
  std::atomic<std::uint64_t> big_block = 16384;  // smallest size of a block that becomes an object
  std::uint64_t largest_big_block = 0;           // upper limit of big_block (grow_big_block); 0: fixed
  std::int64_t started_unix_ns = 0;              // real-time clock at the start of the program
};

// Raises the threshold of managed blocks after a block of this size was freed, in runs where nothing was
// requested. A freed size is likely to be allocated again, and mapping and unmapping its pages each time costs
// more than placement can save. The C library applies the same rule (mallopt(3), dynamic M_MMAP_THRESHOLD).
inline void grow_big_block(Process& process, std::uint64_t size) noexcept {
  if (size < process.largest_big_block && size >= process.big_block.load(std::memory_order_relaxed))
    process.big_block.store(size + 1, std::memory_order_relaxed);
}

// Holds the pointers that each allocator call reads.
struct ProcessPointers {
  std::atomic<Process*> process{nullptr};
  std::atomic<memory::RegionSpace*> regions{nullptr};
  std::atomic<OrderedHeap*> ordered{nullptr};
  std::atomic<SpilledHeap*> spilled{nullptr};
  std::atomic<SpilledSmall*> small{nullptr};
  std::atomic<bool> places_small_blocks{false};  // blocks below the page size may be placed
  std::atomic<bool> is_start_deferred{false};    // start-up waits for the first placeable data (late_start.hpp)
};
extern constinit ProcessPointers g_pointers __attribute__((visibility("hidden")));

// Returns the process's state, or null if Terrace is inactive: no session, TERRACE=off, start-up failed, or it
// ended.
inline Process* process() noexcept { return g_pointers.process.load(std::memory_order_acquire); }

// --- implemented in start.cpp ----------------------------------------------------------------------------

// Reads the session and makes the process state except `objects`. Returns null if there is no session, or if it is
// unusable, which is reported once. Called once, inside Terrace, before the program's constructors.
Process* start(char** environment) noexcept;

// Start and end the tracing of the calling thread, a thread of the program. The main thread is first; its stack is
// already registered.
void attach_thread() noexcept;
void detach_thread() noexcept;

// Runs in the child of a fork, on its only thread. Returns the child's process state; null makes Terrace inactive
// there.
Process* after_fork() noexcept;

// --- for start.cpp -------------------------------------------------------------------------------

// Registers the memory around an accessed address that no object covers: stacks, small blocks, foreign mappings.
// Returns whether it is registered now. Called by the access pipeline.
bool register_touched_memory(std::uint64_t address) noexcept;

// --- implemented in main_loop_detector.cpp ----------------------------------------------------------------------

// Writes notes to the journal at the end of the program: the loop candidates if no main loop was found, or that
// the program has no hooks, and whether that matters.
void finish_loops(Process& process) noexcept;

// --- implemented in mpi_monitor/mpi_record.cpp ------------------------------------------------------------------

// Writes the statistics of the program's MPI calls, and the memory of its MPI library, to the journal at the end
// of the program.
void finish_mpi(Process& process) noexcept;

}  // namespace terrace::agent
