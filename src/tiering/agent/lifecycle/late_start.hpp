// SPDX-License-Identifier: Apache-2.0
// Decides for startup.cpp when Terrace starts in a process. Lazy initialisation: start-up waits for the first
// large allocation or mapping, the first thread, or the first API call, because most processes of a script or a
// build have none of these. Earlier blocks belong to the next allocator. On a machine with one kind of memory
// large blocks do not start Terrace either: separate pages cost time, and there is no placement to decide.
#pragma once

#include <cstddef>

namespace terrace::agent {

// Smallest block, or total of static data, that starts a deferred Terrace. In runs where nothing was requested,
// smaller blocks stay with the next allocator: mapping and unmapping their pages costs more than placement can
// save.
inline constexpr std::size_t k_large = std::size_t{1} << 20;
// The C library maps and unmaps blocks above this size at each use (DEFAULT_MMAP_THRESHOLD_MAX), so that separate
// pages cost nothing extra.
inline constexpr std::size_t k_always_mapped = std::size_t{32} << 20;

// Whether and when to start, from the session's options and the loaded files.
struct StartDecision {
  bool is_enabled = true;    // false: the process's user may not read the run's directory
  bool is_requested = true;  // by an option of the run, or by code built for Terrace
  bool needs_hooks = false;  // code was built for Terrace
  bool has_large_data = true;
  bool has_choice = true;  // false: one kind of memory, so large data does not trigger a start
};
StartDecision decide_start(const char* session) noexcept;

// Re-executes the program with the instrumented variant of the library, because it was built for Terrace but
// loaded the variant without hooks. Happens before any code of the program except constructors of libraries.
// Returns only if impossible.
void reexec_with_hooks(char** words, char** environment) noexcept;

// Returns whether Terrace's malloc serves the C library and the dynamic linker (heap/libc_arena.hpp). If the
// program has its own allocator it does not: that may hold its lock while it maps memory, so that nothing can be
// started in an mmap(2) call. Everything is then started with the program.
bool is_first_allocator() noexcept;

// Returns whether a sanitizer or valgrind is loaded, which needs control of memory and threads for itself.
bool has_memory_checker() noexcept;

}  // namespace terrace::agent
