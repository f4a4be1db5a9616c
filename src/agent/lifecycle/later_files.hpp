// Files that a program loads later (dlopen(3)). Their references are bound, and their constructors have
// run, before Terrace can know of them. Terrace looks at them when the program next asks for a symbol by
// dlsym(3), which is how plug-ins are called. It mends two kinds of references then:
//
// - Weak references to functions that this library stands in for and nothing provides become null, as those
//   of files that are loaded with the program (absent_functions.hpp).
// - RTLD_DEEPBIND makes the linker search a file and what it needs before the global scope. Such a file
//   reaches the C library's free() past this library, which ends the program for a block in memory of
//   Terrace's. Where such a reference goes to the function that this library goes on to, it goes to this
//   library's. What the file brings along, such as an allocator of its own, stays bound. The flag itself
//   stays: without it, names that host and plug-in both have would be bound to the host's.
#pragma once

namespace terrace::agent {

// Notes which files are loaded with the program. Called once, when it begins.
void begin_later_files() noexcept;

// Looks at files that were loaded since the last call; fast where there are none.
void note_later_files() noexcept;

}  // namespace terrace::agent
