// Programs that hold nothing that could be placed are most of what a script or a build runs. In such a process
// Terrace does not begin: it waits for the first large block or mapping, the first thread, or the first call of
// its interface. Blocks that came before are the next allocator's, as small ones are. Where there is one kind of
// memory large data is left to the next allocator, too: pages of its own cost, and there is nothing to choose.
#pragma once

#include <cstddef>

namespace terrace::agent {

// A block, or all static data. Where nothing was asked for a smaller block is left to the next allocator: pages of
// its own, which come and go with it, cost a program that allocates often more than where they reside can win.
inline constexpr std::size_t k_large = std::size_t{1} << 20;
// The C library maps and unmaps larger blocks each time (DEFAULT_MMAP_THRESHOLD_MAX), so Terrace costs nothing
// there.
inline constexpr std::size_t k_always_mapped = std::size_t{32} << 20;

// What the loaded files say: whether anybody asked for something, by an option of the run or by code that was made
// for Terrace; and whether there is something to place from the start.
struct StartDecision {
  bool is_wanted = true;  // false: another user's process, who may not read the run's folder; nobody asked for it
  bool is_asked_for = true;
  bool has_large_data = true;
  bool has_choice = true;  // false: one kind of memory, so large data is nothing to begin for
};
StartDecision decide_start(const char* session) noexcept;

// A program that was made for Terrace has been given the library for all others: it begins again with the one that
// has hooks, before any of its own code but constructors of libraries has run. Returns where that cannot be.
void reexec_with_hooks(char** words, char** environment) noexcept;

// Whether what the C library and the dynamic linker ask an allocator for comes by this library (heap/
// libc_arena.hpp). It does not where the program itself brings an allocator along: that serves them, and may
// hold its lock while it maps memory. There nothing can begin in a mapping: all that ever will begins with the
// program.
bool is_first_allocator() noexcept;

// Whether the library of a sanitizer or of valgrind is loaded, which has the program's memory and threads to
// itself.
bool has_memory_checker() noexcept;

}  // namespace terrace::agent
