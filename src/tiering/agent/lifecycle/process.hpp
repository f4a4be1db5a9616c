// What this process has while it runs under Terrace, and the moments in its life at which the front doors call the
// one who builds it (start.cpp): start, a new thread, a fork.
//
// Without a session there is no Process: allocation passes through and markers do nothing.
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
class ProgramLoops;
class ProgramWork;
class SpilledHeap;
class SpilledSmall;

struct Process {
  runtime::Runtime* runtime = nullptr;
  observe::AddressMap* map = nullptr;  // null when accesses are not followed
  memory::RegionSpace* regions = nullptr;
  observe::SymbolTable* symbols = nullptr;
  ProgramWork* work = nullptr;                 // null: no accesses are followed
  Clock* clock = nullptr;                      // the program's
  ObjectRegistry* objects = nullptr;           // made by the front doors when start() has returned
  sim::Scheduler* scheduler = nullptr;         // null on the real machine, where threads run as the system wants
  sim::ThreadClocks* thread_clocks = nullptr;  // of all configurations
  observe::CodeMap* code = nullptr;            // null where the program's time is not sampled
  OrderedHeap* ordered = nullptr;              // null where nothing is placed by intent
  ProgramLoops* loops = nullptr;               // null where nobody looks for the main loop
  SpilledHeap* (*make_spilled)() = nullptr;    // null where memory is not over a file; called at most once
  transfer::Preference (*preference_of)(std::string_view object) noexcept =
      nullptr;                             // null: no plan says what stays
  std::uint64_t spilled_memory = 0;        // bytes that it may have then
  void (*begin_watching)() = nullptr;      // null where nobody watches; called once, with large data
  void (*end_watching)() = nullptr;        // the same; called when the process ends
  void (*end_spilled)() = nullptr;         // the same; called when the process ends
  void (*confined_over_file)() = nullptr;  // says what that means for memory over a file, where there is some
  bool simulated = false;                  // the program's clocks show virtual time
  bool learns = false;                     // somebody wants to learn from the program's accesses
  bool has_hooks = false;                  // some code that was loaded calls them
  std::atomic<std::uint64_t> big_block = 16384;  // blocks from this size on are objects of their own
  std::uint64_t largest_big_block = 0;           // as far as that may grow (grow_big_block); 0: it stays
  std::int64_t started_unix_ns = 0;              // what the program's real-time clock showed when it began
};

// A block of this size was freed: where nothing was asked for, such blocks are left to the next allocator from now
// on. A size that a program frees is one that it allocates again, and pages that come and go each time cost more
// than where they reside can win. The C library keeps such blocks for the same reason, and by the same rule
// (mallopt(3), M_MMAP_THRESHOLD).
inline void grow_big_block(Process& process, std::uint64_t size) noexcept {
  if (size < process.largest_big_block && size >= process.big_block.load(std::memory_order_relaxed))
    process.big_block.store(size + 1, std::memory_order_relaxed);
}

// What every call of the allocator asks for, together.
struct ProcessPointers {
  std::atomic<Process*> process{nullptr};
  std::atomic<memory::RegionSpace*> regions{nullptr};
  std::atomic<OrderedHeap*> ordered{nullptr};
  std::atomic<SpilledHeap*> spilled{nullptr};
  std::atomic<SpilledSmall*> small{nullptr};
  std::atomic<bool> places_small_blocks{false};  // blocks of less than a page may be placed, too
  std::atomic<bool> is_start_deferred{false};    // it begins when there is something that could be placed
};
extern constinit ProcessPointers g_pointers __attribute__((visibility("hidden")));

// This process's, or nullptr when it is inert: no session, TERRACE=off, or something went wrong at the start.
inline Process* process() noexcept { return g_pointers.process.load(std::memory_order_acquire); }

// --- implemented in start.cpp ----------------------------------------------------------------------------

// Reads the session and makes everything but `objects`; nullptr when there is no session or it cannot be used
// (then it says so once). Called once, inside Terrace, before the program's own constructors.
Process* start(char** environment) noexcept;

// The calling thread is the program's and begins to be followed / ends. The main thread comes first, with its
// stack known already.
void attach_thread() noexcept;
void detach_thread() noexcept;

// In the child of a fork, on its only thread: from now on it is a process of its own, with its own journal.
// Returns what process() shall return there; nullptr leaves the child inert.
Process* after_fork() noexcept;

// --- what start.cpp may use -------------------------------------------------------------------------------

// For Pipeline: makes an address known that no object covers (stacks, small blocks, what others mapped). Never
// throws.
bool register_touched_memory(std::uint64_t address) noexcept;

// --- implemented in program_loops.cpp ----------------------------------------------------------------------

// The program is over: notes what was seen of loops, where no main loop was found; or that there were no hooks,
// and whether that matters.
void finish_loops(Process& process) noexcept;

}  // namespace terrace::agent
